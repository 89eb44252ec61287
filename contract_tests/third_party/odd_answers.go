// Posts to each of the given URLs and prints the status that Go's client reads, 0 for none.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	for _, url := range os.Args[1:] {
		// A new transport for each, because some of the connections are unusable afterwards.
		client := &http.Client{
			Timeout:       2 * time.Second,
			Transport:     &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		response, err := client.Post(url, "application/json", strings.NewReader("{}"))
		if err != nil {
			fmt.Println(0)
			continue
		}
		response.Body.Close()
		fmt.Println(response.StatusCode)
	}
}
