"""Logs of many web servers, with the records that CrowdSec's own parsers (grok) make of them."""

import json
import re
from collections import defaultdict

import _logs
from suites import Suite

VALUE = re.compile(r'results\["s01[^"]*"\]\["([^"]+)"\]\[(\d+)\]\.Evt\.(\w+)\["([^"]+)"\] == ("(?:[^"\\]|\\.)*")')
# What the parsers call the bytes sent.
BYTES = ("Parsed.body_bytes_sent", "Parsed.bytes_read", "Parsed.bytes", "Parsed.sent_bytes")


MALFORMED = "a request line that is none has no target here; the referee takes its text for one"
ERRORS = "lines of an error log among requests are rejected and counted; the referee reads the request that they name"
APPLICATION = "a log of an application, of which the referee reads single events; refused, or taken with a doubt that is said"
MIXED = "two formats in one file: one is read, the lines of the other are rejected and counted, and the doubt is said"

REASONS = {
    "apache2-malformed": MALFORMED,
    "bunkerweb-http-malformed": MALFORMED + "; and lines of nginx's format, not BunkerWeb's, which is said",
    "nginx-http-malformed": MALFORMED,
    "nginx-proxy-manager-malformed": MALFORMED,
    "base-upsun-httplog-logs": "a request within the message of another log's JSON; named as JSON without requests, and refused",
    "caddy-logs": "the referee leaves out Caddy's requests without a status (0), which are requests; here they are counted, without one",
    "envoy-logs": MIXED,
    "iis-xml-logs": "events of Windows as XML, not a log in lines; refused",
    "navidrome-logs": APPLICATION,
    "ntfy-logs": APPLICATION,
    "nginx-proxy-manager-logs": MIXED + "; " + ERRORS,
    "nginx_http-catch-npm": MIXED,
    "nginx_http-logs": "a line without the user's place is in no format of nginx; rejected and counted. " + ERRORS,
    "npmplus-logs": ERRORS,
    "traefik_json": "of a list of clients the first is the client's, as X-Forwarded-For is documented; the referee takes the last",
}


def run(folder, programs):
    for asserts in sorted(folder.glob(".tests/*/parser.assert")):
        text = asserts.read_text(errors="replace")
        log = re.search(r"log_file:\s*(\S+)", (asserts.parent / "config.yaml").read_text(errors="replace"))
        if "http_status" in text and log:
            path = asserts.parent / log[1].strip('"')
            yield _logs.compare(asserts.parent.name, path, list(truth(text)), programs.rorqual)


def truth(text):
    events = defaultdict(dict)
    for parser, index, kind, key, value in VALUE.findall(text):
        events[parser, int(index)][f"{kind}.{key}"] = unquoted(value)
    for event in events.values():
        # A status of 0 is Caddy's for a client that left; the parser gives it to lines that are no requests too.
        if event.get("Meta.http_status", "").strip("0 "):
            sent = next((event[key] for key in BYTES if event.get(key, "").isdigit()), None)
            yield {
                "status": event["Meta.http_status"].strip("-"),
                "client": event.get("Meta.source_ip"),
                "method": event.get("Meta.http_verb"),
                "target": event.get("Meta.http_path"),
                "bytes": int(sent) if sent else None,
            }


def unquoted(value):
    try:
        return json.loads(value)
    except ValueError:
        return value[1:-1].encode().decode("unicode_escape", "replace")


SUITE = Suite(
    "crowdsec",
    "git clone --depth 1 https://github.com/crowdsecurity/hub crowdsec",
    run,
    REASONS,
)
