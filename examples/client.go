// Ask the memory from Go: go get github.com/nats-io/nats.go && NATS_URL=... go run client.go
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

const request = `{"query": "where are sessions stored?", "k": 3}`

type hit struct {
	Verdict string `json:"verdict"`
	Repo    string `json:"repo"`
	Path    string `json:"path"`
	Lines   [2]int `json:"lines"`
	Reason  string `json:"reason"`
}

type reply struct {
	Abstained bool     `json:"abstained"`
	Reason    string   `json:"reason"`
	Hits      []hit    `json:"hits"`
	Withheld  []hit    `json:"withheld"`
	Error     *failure `json:"error"`
}

type failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion"`
}

func main() {
	bus, err := nats.Connect(os.Getenv("NATS_URL"), nats.CustomInboxPrefix("_INBOX.go-example"))
	if err != nil {
		log.Fatal(err)
	}
	defer bus.Close()
	message, err := bus.Request("recall.v1.go-example.search", []byte(request), 30*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	var answer reply
	if err := json.Unmarshal(message.Data, &answer); err != nil {
		log.Fatal(err)
	}
	if answer.Error != nil {
		log.Fatalf("%s: %s; %s", answer.Error.Code, answer.Error.Message, answer.Error.Suggestion)
	}
	for _, each := range answer.Hits {
		fmt.Printf("%s %s:%s:%d-%d\n", each.Verdict, each.Repo, each.Path, each.Lines[0], each.Lines[1])
	}
	for _, each := range answer.Withheld {
		fmt.Printf("withheld: %s %s: %s\n", each.Verdict, each.Path, each.Reason)
	}
	if answer.Abstained {
		fmt.Println("the memory does not know:", answer.Reason)
	}
}
