// Decodes feedback packets (RFC 8888) in hex, one per line, with pion, encodes them again, and prints both: for each
// line the blocks as "ssrc:begin:R.ECN.ATO,..", the timestamp, and the bytes.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/pion/rtcp"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		bytes, err := hex.DecodeString(lines.Text())
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		var report rtcp.CCFeedbackReport
		if err := report.Unmarshal(bytes); err != nil {
			fmt.Println("error", err)
			continue
		}
		encoded, err := report.Marshal()
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		var blocks []string
		for _, block := range report.ReportBlocks {
			var metrics []string
			for _, metric := range block.MetricBlocks {
				received := 0
				if metric.Received {
					received = 1
				}
				metrics = append(metrics, fmt.Sprintf("%d.%d.%d", received, metric.ECN, metric.ArrivalTimeOffset))
			}
			blocks = append(blocks, fmt.Sprintf("%d:%d:%s", block.MediaSSRC, block.BeginSequence, strings.Join(metrics, ",")))
		}
		fmt.Println(strings.Join(blocks, " "), report.ReportTimestamp, hex.EncodeToString(encoded))
	}
}
