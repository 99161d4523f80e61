#!/bin/sh
# Ask the memory from a shell: ./shell.sh QUESTION [OPTION ...]. The same with the nats program alone:
#   nats --server "$NATS_URL" req recall.v1.shell-example.search '{"query": "where are sessions stored?", "k": 3}'
[ $# -gt 0 ] || set -- "where are sessions stored?"
recall search "$@" -k 3 --agent shell-example
status=$?
case $status in
    0) echo "answered" ;;
    1) echo "the memory does not know" ;;
    3) echo "no daemon: start one with 'recalld run'" ;;
esac
exit $status
