// Go's templates: render text|html doom|cursed|counted N, render text|html rows FILE.
package main

import (
	"bufio"
	htmltemplate "html/template"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	texttemplate "text/template"
)

const (
	lines       = "DOOM DOOM DOOM DOOM\n"
	bufferBytes = 256 << 10
)

var fields = []string{"Client", "Time", "Method", "Path", "Status", "Bytes", "Referrer", "Agent"}

type row struct{ Client, Time, Method, Path, Status, Bytes, Referrer, Agent string }

type executor interface {
	Execute(io.Writer, any) error
}

func source(what string) string {
	switch what {
	case "doom":
		return "{{range .}}" + strings.Repeat(lines, 14) + "{{end}}"
	case "cursed":
		return "{{range .}}" + strings.Repeat(lines, 7) + `{{""}}` + strings.Repeat(lines, 7) + "{{end}}"
	case "counted":
		return "{{range $i := .}}" + strings.Repeat(lines, 7) + "{{$i}}" + strings.Repeat(lines, 7) + "{{end}}"
	}
	return "{{range .}}<tr>{{range_cells}}</tr>\n{{end}}"
}

// A function to range over, which is faster than a channel.
func rows(path string) iter.Seq[row] {
	return func(yield func(row) bool) {
		file, err := os.Open(path)
		check(err)
		scanner := bufio.NewScanner(file)
		scanner.Buffer(make([]byte, 1<<20), 1<<20)
		scanner.Scan()
		for scanner.Scan() {
			f := strings.Split(scanner.Text(), "\t")
			if !yield(row{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]}) {
				return
			}
		}
		check(scanner.Err())
	}
}

func main() {
	kind, what, given := os.Args[1], os.Args[2], os.Args[3]
	text := source(what)
	cells := ""
	for _, name := range fields {
		value := "{{." + name + "}}"
		if kind == "text" {
			value = "{{." + name + " | html}}"
		}
		cells += "<td>" + value + "</td>"
	}
	text = strings.Replace(text, "{{range_cells}}", cells, 1)
	var data any
	if what == "rows" {
		data = rows(given)
	} else {
		number, err := strconv.Atoi(given)
		check(err)
		data = number
	}
	out := bufio.NewWriterSize(os.Stdout, bufferBytes)
	check(parsed(kind, text).Execute(out, data))
	check(out.Flush())
}

func parsed(kind, text string) executor {
	if kind == "html" {
		return htmltemplate.Must(htmltemplate.New("page").Parse(text))
	}
	return texttemplate.Must(texttemplate.New("page").Parse(text))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
