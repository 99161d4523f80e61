"""Where files are seen to change: watcher, scan, git, ignore rules."""
