"""Access logs that people left in public repositories, each beside what a small parser here, written from the format's own
documentation, makes of it as the referee. The files come by themselves, not as checkouts: tools/suites/real_logs.py FOLDER gets them."""

import csv
import datetime
import gzip
import json
import re
import shlex
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

if __name__ != "__main__":
    import _logs
    from suites import Suite, Verdict

# The kind, which names the referee below; the repository, the commit and the path.
LOGS = """
uwsgi           1996xjm/webserver 7168a8d5e199fcb68a41453f538b17a5f83b7f80 uwsgi.log
uwsgi           520MianXiangDuiXiang520/JuneBlog 3cb5d74b6f696f678bd8cb7832db8fbcbf4cb5e9 uwsgi.log
squid           1eps/squid_to_json 00f9bb0af27cdafce70e2d91e8b7da7b3ad18e88 access.log
squid           RichMix/logAnalysisTools 64b3970aa5f4da19c5e1d9a3ad45af5b5bf22d2b squid_access.log
squid           netdata/netdata 04b1cf54270c4e21c02e322e577e7e96d547c9ee src/go/plugin/go.d/collector/squidlog/testdata/access.log
elb             atombrenner/elb-lambda-analyse 754ac9d11632f237fa94dca2359303a14296dacb elb.log
elb             iamon3/java_examples 54f5eaee0913c70c11fdb57387ba62de80abfd39 elb.log
alb             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/aws_elb_access.log
ssl_request     MrDuDing/iduding 803ae48729312119870ee2c29c2f4315d5f9d9c7 sever_conf/ssl_request_log
ssl_request     WangYuSuo/js-game 8d0c6d5e496979ce4a4a1f6451e142752e34dc8d ssl_request_log
ssl_request     rsaxvc/apacheAnalyzer 0f00396433c1fb9faf0d1ac3aff26e76e157ffd8 logs/ssl_request_log
ssl_request     bwharris/people-uic-bwharris 94c5badd0fef478262e0e9b81037ec29fe2a24cd logs/ssl_request_log
heroku          PsiRadish/Instigatr 24948e413d28f3e5440f4faf0986fa72520ba9c6 heroku.log
heroku          9vinny/hcc-daemo f3ca0825332fbab0fe92f7de5a997ca7fccebeaa heroku.log
heroku          audishos/jungle-rails 9beda4f09dab08312fecf87ffbebc46add7d7c0e heroku.log
heroku          BiCoR/RailsServer ca1e263e646e20d04c6ebb325d75520d9dfd5216 heroku.log
heroku_2011     vergeman/groupie e73d620565e05c0cccdcf7b5ccd0df4b7b20f63f heroku.log
iis             brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/ex010320.log
w3c             brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/ex031118.log
w3c             brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/ex960101.log
firewall        brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/pf040903.log
w3c             brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/u_ex100815.log
w3c             brianary/scripts 903afb654683fdbcca223d58fd83ec5bde3040f2 test/data/u_ex160110.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis10.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis10_cookies.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis10_edge_cases.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis6.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis7_owa.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis7_sqli.log
w3c             log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/iis/iis_without_date.log
w3c             netdata/netdata 04b1cf54270c4e21c02e322e577e7e96d547c9ee src/go/plugin/go.d/collector/weblog/testdata/u_ex221107.log
cloudfront_2012 rahulazad/testrpofortechsupport f170a08a6b55f349cbdaf0841fa398ddf76c8561 cloudfront.log
vhost           dmjacas/logs 848ff1d4522b994723d99f1b1d2316986acec053 other_vhosts_access.log
vhost           dmjacas/logs 848ff1d4522b994723d99f1b1d2316986acec053 other_vhosts_access.log.2.gz
vhost           junwu168/bash-script 912d1ed40981900c4a9a28faa5c450a064f56b8b other_vhosts_access.log
vhost           lovecoding1987/sample_logs 19f1ac4e909ffe73322afb63a26e5f61393a59c1 other_vhosts_access.log.5
haproxy_tcp     epartington/rsa_nw_log_haproxy 815f40d032baf65e9f70e1b40dc9343cc795efbf haproxy.log
haproxy         no7dw/haproxy_log_analysis_script c59792201637fc426923f5ad394a9bd3a5bbb739 haproxy.log
haproxy         raravena80/haproxylogparser f631a420f40cd80172721c111170f13b147f6814 haproxy.log
haproxy         doitintl/fluentbq 988c0be09f9719ac9cc89161a8da1efb31cd0cfd logs/haproxy.log
haproxy_clf     lazylizard3/haproxy 184293af9047d52946012a57b267c785ef356407 haproxy.log
haproxy_json    obaidulsarker/haproxy-log-into-mysql 33994048a9740b933ec8b982c5e090584706ccdf haproxy.log
haproxy_own     mariusnorheim/haproxy-logviewer 138e27903b29b9c4965cdf8f46275e690d125ad8 logs/haproxy.log
caddy_console   ysicing/caddy2-geocn 4d345ddd534df541fd9c84ec03b47666439a4ada caddy.log
caddy_console   petevdp/squad_gps 6184d266f5fd98e126313c5650a5e960137ce962 caddy.log
caddy_2015      0atman/upstream-tufte-caddy 492a2d2e3be484a2d409bfae3d02a4a758322995 access.log
traefik         AleksTurbo/service f3b0c8a0a6a88d7f0e6b060c0e4d8fd7737c8ae1 traefik/access.log
traefik         almafrank/DockerMessageSite 65f4e0eaa1c0c474cdad4ae846b240b1c525e651 traefik/logs/access.log
traefik         sun-asterisk-research/air-viewer c94e9493e8c5776a83885a946d465ba18a007d0b traefik/logs/access.log
traefik         F0xedb/main-server e4e4c4f36eb785a3e15e9e5dd3535d643c8eb10b traefik/logs/access.log
traefik         GermanGabe/05-01-infra_second_container 1dbae797bdf7bc762c44587390cda60d18c24143 traefik/logs/access.log
traefik         lctl83/tradia ace9a451894f04960f9f02d630931bed193715b7 logs/traefik/access.log
traefik_json    maborak/monitor-stack 1f902a9b930fbdcff280547248adc4510c485d3b logs/traefik/access.log
lighttpd        simongoffin/Django_production 14a6c05702c46a09e8ff065c94b3d4b2c4868750 lighttpd/access.log
lighttpd        theodo/TheodoRogerCmsBundle 1da6a2db9194db455ca0f1fe8e4da34f16a01321 log/lighttpd/access.log
ltsv_blanks     ryotarogoto/hatena_practice 68db56cd999c677e95a920893eb1d703ca854bde ltsv.log
uvicorn         4GeeksAcademy/campivargas07-voice-command-api 966f1ccbc88e3738e58ced065852faf2fb082678 uvicorn.log
uvicorn         AICincy/audhd-agents 186bcff4f0044f9585c7f9a60470c6fcf09ea08c uvicorn.log
uvicorn         7L7K/GesahniV2 e690c7b3c0ae65d6610ced7f36582c55a047af9c uvicorn.log
nginx_json      netdata/netdata 04b1cf54270c4e21c02e322e577e7e96d547c9ee src/collectors/log2journal/tests.d/nginx-json.log
azure_gateway   log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/azure_application_gateway_access.json
bitbucket       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/atlassian-bitbucket-access.log
atlassian       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/confluence_access.log
atlassian       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/confluence_access_post7.11.log
atlassian       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/jira_access.log
atlassian       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/jira_access_months.log
atlassian       log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/jira_access_post9.4.log
icecast         75-akimas/myIcecast 85888ac2aa224df6fb8faeea487079896f376fc2 logs/access.log
compose         bettermarks/kong_8531 b7ac887d55d0f97ddbd04a12abae9b890ed4fab7 kong.log
hue             2013Commons/HUE-SHARK aa47669e8f0053132b6c668c3cc34a38100c6bd8 logs/access.log
combined        RichMix/logAnalysisTools 64b3970aa5f4da19c5e1d9a3ad45af5b5bf22d2b access.log
combined        MrDuDing/iduding 803ae48729312119870ee2c29c2f4315d5f9d9c7 sever_conf/access_log
combined        MrDuDing/iduding 803ae48729312119870ee2c29c2f4315d5f9d9c7 sever_conf/ssl_access_log
combined        dmjacas/logs 848ff1d4522b994723d99f1b1d2316986acec053 access.log.1
combined        dmjacas/logs 848ff1d4522b994723d99f1b1d2316986acec053 access.log.10.gz
combined        lovecoding1987/sample_logs 19f1ac4e909ffe73322afb63a26e5f61393a59c1 access.log.1
combined        lovecoding1987/sample_logs 19f1ac4e909ffe73322afb63a26e5f61393a59c1 access.log.9
combined        lovecoding1987/sample_logs 19f1ac4e909ffe73322afb63a26e5f61393a59c1 apache_access.log
combined        jakecarlson1/website 90eb03b9d1f1ba185543430cd061c8b2409dbd45 logs/caddy/access.log
combined        wwarodom/cpm b13efa7b4a645ea03532c2970f5e21140587153e logs/caddy/access.log
combined        smu-maestro/maestro-web f6077689d9f7c350c8ff30c8b23cbde8f3012af6 logs/caddy/access.log
combined        WilliamGoossen/epsos-common-components.gnomonportal d9cde1afe9b681e610537ff18f59f9fef9e706a0 logs/localhost_access_log.txt
combined        wayne-abarquez/solar 319c263e7e20ea3affa4317c7f3f5cbb95354c5f logs/gunicorn-access.log
combined        vietvudanh/flask-gunicorn-logging 0d5d5840d01524d81b792454e97fd00503f5cbe6 logs/gunicorn-access.log
combined        bwharris/people-uic-bwharris 94c5badd0fef478262e0e9b81037ec29fe2a24cd logs/access_log
combined        Hurence/logisland-quickstarts be51ca1c38dd73ce9657b5e534f2771a09e39465 data/access.log
combined        arthurlm/ngx-prom 37c93f08060dd0c07560537aebbb43ef6ee74e5b data/access.log
combined        log2timeline/plaso 4ea03ef9a48dad5284c371ac9b537a184b3eea9c test_data/apache_access.log
combined        netdata/netdata 04b1cf54270c4e21c02e322e577e7e96d547c9ee src/collectors/log2journal/tests.d/nginx-combined.log
combined        netdata/netdata 04b1cf54270c4e21c02e322e577e7e96d547c9ee src/go/plugin/go.d/collector/weblog/testdata/common.log
combined        3c905/ngx-lua-waf 87538cdc31419f47fecdf98f75c54d319b5f076f access.log
ltsv            tkuchiki/alp d91a23dc2d71521c5a9e166faf92f68d082fb85f example/logs/ltsv_access.log
json            tkuchiki/alp d91a23dc2d71521c5a9e166faf92f68d082fb85f example/logs/json_access.log
combined        tkuchiki/alp d91a23dc2d71521c5a9e166faf92f68d082fb85f example/logs/combined_access.log
cloudfront      dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/cloudfront-multiple.log
cloudfront      dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/cloudfront-multiple.log.gz
cloudfront      dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/cloudfront_entry.csv
cloudfront      dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/cloudfront_entry_cookie_with_encoding.csv
elb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/classic_loadbalancer_http_entry.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_cloudfront_forward_h2.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_cloudfront_forward_refused.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_http2_entry_auth_error.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_https_entry.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_lambda_failed_entry.csv
alb             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/loadbalancer_secured_websockets_entry.csv
waf             dpetzold/aws-log-parser 127bed2976c270d7839e5b5f113ccbbcf3b6c447 test/data/waf_log.json
lighttpd        google/mtail 4c7e0e1174ac1ead032efe28d86428bbbe0ae145 internal/mtail/testdata/lighttpd_access.log
combined        google/mtail 4c7e0e1174ac1ead032efe28d86428bbbe0ae145 internal/mtail/testdata/apache-combined.log
combined        google/mtail 4c7e0e1174ac1ead032efe28d86428bbbe0ae145 internal/mtail/testdata/apache-common.log
haproxy         gforcada/haproxy_log_analysis db7e1c2100e7eab9696515b918afb68403e48ad5 tests/files/2_ok_1_invalid.log
haproxy         gforcada/haproxy_log_analysis db7e1c2100e7eab9696515b918afb68403e48ad5 tests/files/small.log
json            Kazuhiro-Mimaki/private-isu 046342d1ed18266d78be0d5cb711e7bffc0704d3 webapp/logs/nginx/access.log
json            c0ridrew/isucon-practice fecee3c71cb0fce0639e7e033398b7e8e4348e35 webapp/logs/nginx/access.log
json            okb97/web-performance-tuning-from-isucon aa44febbecc6593b2f6c36baf9da62fc69a77521 webapp/logs/nginx/access.log
json            isucon-2023-11-25-ajax-joins-react/private-isu-docker c7268fb8ea56436819a4f4ad8658e6cfbb1766ce webapp/logs/nginx/access.log
combined        yoshiyoshiharu/isucon10-qualify 25a9720baa7ed43dd084a33603b4f4e0cf3ac06b webapp/logs/nginx/access.log
werkzeug        MicrosoftTCE/civic-graph-API fc8b4e826e5f285ae0ee528b3f41cdd5c037205c werkzeug.log
werkzeug        Akshit-joshi-weboccult/Flask-Starter-code fa10581e769d1782a9b56e295f72ae236f42e6f4 werkzeug.log
morgan          regharris/ecommerceapp 0229ea55e65ecab7bc9610e0a83da639976b8d02 morgan.log
morgan          mohasadaq/remittence 272fe703549539a1159808207a93cdac8e8c80e0 morgan.log
combined        qinezh/votehub 5e0061ac7d89a76b5989f1dd0142d7c09ec9e771 morgan.log
traefik_json    CodeTrickz/ansible 4a5f6c1b76ec0ecb9254511aecf9ec42c11ad6fb logs/access.json
ltsv            tmtk75/fig-td-agent-sample d668487cadc086fa9f4bb1716a83dc7722ee3087 access.ltsv
"""

OWN = "a format of the site's or the program's own; refused until --format gives it"
OLD = "the format of an older version, of which no field tells it apart; refused until --format gives it"
NO_ADDRESS = "a client that is no address is left out, and its lines count as repaired"

REASONS = {
    "bitbucket:*": OWN,
    "caddy_2015:*": OLD,
    "caddy_console:*": "JSON in the middle of a line for people, as Caddy prints it on a console; refused",
    "cloudfront_2012:*": "blanks that someone put for the tabs of CloudFront, which has no blanks; refused",
    "haproxy: doitintl/*": "three formats by turns: one is read, lines of the others are rejected or repaired, and the doubt is said",
    "haproxy_json:*": OWN,
    "haproxy_own:*": OWN,
    "heroku: BiCoR/*": OLD,
    "heroku_2011:*": OLD,
    "hue:*": "a log of an application, whose requests have neither a status nor a size; refused",
    "iis:*": "IIS's own format with commas, whose dates are in the order of the machine's language; refused",
    "combined: log2timeline/*": "common, combined and vhost_combined in one file; the host before the client is told apart, and the doubt is said",
    "combined: netdata/*": NO_ADDRESS,
    "combined: 3c905/*": NO_ADDRESS,
    "lighttpd: google/*": "lighttpd's default with three more numbers, of which nothing tells that its second word is the host; the doubt is said",
    "morgan:*": "lines of a program under development, with neither a time nor a client; refused",
    "squid: netdata/*": NO_ADDRESS,
    "waf:*": "AWS WAF's JSON, whose requests have neither a status nor a size; read as a table, which the schema says",
}

# Quotes in a request are not escaped by all: it ends where a status follows.
CLF = r'\[(?P<time>[^\]]+)\] "(?P<request>(?:[^\\]|\\.)*?)" (?P<status>\d{3}|-) (?P<bytes>\d+|-)(?: .*)?'
COMBINED = re.compile(r"(?P<client>\S+) \S+ .*?" + CLF)
# Traefik does not escape quotes, and has 0 for no status.
TRAEFIK = re.compile(r'(?P<client>\S+) - .*? \[(?P<time>[^\]]+)\] "(?P<request>.*?)" (?P<status>\d+|-) (?P<bytes>\d+|-) "[^"]*" "[^"]*" \d+ .* \d+ms')
# Apache puts the name and port of the virtual host before the client.
VHOST = re.compile(r"(?P<host>\S+):\d+ (?P<client>\S+) \S+ .*?" + CLF)
# lighttpd's default has the Host header where Apache has the identity.
LIGHTTPD = re.compile(r"(?P<client>\S+) (?P<host>\S+) .*?" + CLF)
# %t %h %{SSL_PROTOCOL}x %{SSL_CIPHER}x "%r" %b
SSL_REQUEST = re.compile(r'\[(?P<time>[^\]]+)\] (?P<client>\S+) \S+ \S+ "(?P<request>(?:[^"\\]|\\.)*)" (?P<bytes>\d+|-)')
# Section 8.2.3 of HAProxy's configuration manual.
HAPROXY = re.compile(
    r"^(?:<\d+>)?.*?haproxy\[\d+\]: (?P<client>\S+):\d+ \[(?P<time>[^\]]+)\] \S+ \S+/\S+ [-+\d]+/[-+\d]+/[-+\d]+/[-+\d]+/[-+\d]+ "
    r"(?P<status>-?\d+) \+?(?P<bytes>\d+) \S+ \S+ \S{4} \d+/\d+/\d+/\d+/\+?\d+ \d+/\d+ (?:\{[^}]*\} )?(?:\{[^}]*\} )?\"(?P<request>.*?)\"?$"
)
HAPROXY_TCP = re.compile(r"haproxy\[\d+\]: \S+:\d+ \[[^\]]+\] \S+ \S+/\S+ [-+\d]+/[-+\d]+/[-+\d]+ \d+ \S+ ")
# option httplog clf
HAPROXY_CLF = re.compile(r"haproxy\[\d+\]: (?P<client>\S+) - - " + CLF)
# log-format of the demonstration that the log is of
HAPROXY_OWN = re.compile(r'haproxy\[\d+\]: (?P<client>\S+) \[(?P<time>[^\]]+)\] (?P<status>\d+) \+?(?P<bytes>\d+) "(?P<request>[^"]*)"')
# The format in uWSGI's documentation on logging.
UWSGI = re.compile(
    r"\[pid: \d+\|app: -?\d+\|req: -?\d+/\d+\] (?P<client>\S*) \([^)]*\) \{\d+ vars in \d+ bytes\} \[(?P<time>[^\]]+)\] "
    r"(?P<method>\S+) (?P<target>.*) => generated (?P<bytes>\d+) bytes in \d+ msecs \(HTTP/\S+ (?P<status>\d+)\)"
)
UVICORN = re.compile(r'INFO: +(?P<client>\S+):\d+ - "(?P<request>[^"]*)" (?P<status>\d{3})\b')
CADDY_2015 = re.compile(r"(?P<client>\S+) \S+ " + CLF)
# %t %{X-AUSERNAME}o %I %h %r %s %Dms %b %{Referer}i %{User-Agent}i, and newer ones with an address before the user.
ATLASSIAN = re.compile(r"\[(?P<time>[^\]]+)\] (?:\S+ )?\S+ \S+ (?P<client>\S+) (?P<request>\S+ \S+ HTTP/\S+) (?P<status>\d+) \d+ms (?P<bytes>\d+|-) ")
REQUEST = re.compile(r"(?P<method>[A-Za-z_]+) (?P<target>\S+) HTTP/\d(?:\.\d)?")
HUE = re.compile(r'\[[^\]]+\] [A-Z]+ +(?P<client>\S+) \S+ - "(?P<request>[^"]*)"')
# Its formats tiny and dev, the latter in colours.
MORGAN = re.compile(r"(?P<method>[A-Z]+) (?P<target>\S+) \S*?(?P<status>\d{3}) ")
HEROKU = re.compile(r"(?P<time>\S+) heroku\[router\]: (?P<values>.*)")


def clf_time(text):
    return datetime.datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z").timestamp()


def utc(text, form):
    """A time without a zone, which is said to be taken for UTC."""
    return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc).timestamp()


def iso(text):
    time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)).timestamp()


def record(values, time=clf_time):
    """A record of a match's groups; what is left out of it is not compared, what is None has to be absent."""
    found = {name: None if value in ("-", "", "0") else value for name, value in values.items() if name in ("client", "status", "host", "method", "target")}
    if "time" in values:
        found["time"] = time(values["time"])
    if "bytes" in values:
        found["bytes"] = int(values["bytes"]) if (values["bytes"] or "").isdigit() else None
    # Text that is no request line has no target; what is made of it is not compared.
    if request := REQUEST.fullmatch(values.get("request") or ""):
        found.update(request.groupdict())
    return found


def by_match(pattern, time=clf_time, whole=True):
    def read(lines):
        for line in lines:
            if match := (pattern.fullmatch if whole else pattern.search)(line.rstrip()):
                yield record(match.groupdict(), time)

    return read


def squid(lines):
    for line in lines:
        columns = line.split()
        if len(columns) == 10 and re.fullmatch(r"\d+\.\d{3}", columns[0]):
            status = columns[3].rpartition("/")[2]
            # 000 and 0 are of requests without a response.
            yield {
                "time": float(columns[0]),
                "client": None if columns[2] == "-" else columns[2],
                "status": status if status.strip("0") else None,
                "bytes": int(columns[4]),
                "method": columns[5],
                "target": columns[6],
            }


def load_balancer(first, request):
    """AWS's classic (no type before the time) and application load balancers: blanks between columns, quotes around text."""

    def read(lines):
        for columns in csv.reader(lines, delimiter=" "):
            if len(columns) > request and (whole := REQUEST.fullmatch(columns[request])):
                url = urllib.parse.urlsplit(whole["target"])
                yield {
                    "time": iso(columns[first]),
                    "client": columns[first + 2].rpartition(":")[0],
                    "status": columns[first + 7],
                    "bytes": int(columns[first + 10]),
                    "method": whole["method"],
                    "target": url.path + (f"?{url.query}" if url.query else ""),
                }

    return read


def heroku(lines):
    for line in lines:
        if match := HEROKU.match(line):
            values = dict(word.partition("=")[::2] for word in shlex.split(match["values"]) if "=" in word)
            if "status" in values:
                yield {
                    "time": iso(match["time"]),
                    "client": values.get("fwd", "").split(",")[0] or None,
                    "status": values["status"] or None,
                    "bytes": int(values["bytes"]) if values.get("bytes") else None,
                    "method": values.get("method"),
                    "target": values.get("path"),
                    "host": values.get("host"),
                }


def heroku_2011(lines):
    for line in lines:
        if match := re.match(r"(?P<time>\S+) heroku\[router\]: (?P<method>[A-Z]+) (?P<url>\S+) .*status=(?P<status>\d+) bytes=(?P<bytes>\d+)", line):
            host, slash, path = match["url"].partition("/")
            yield record(match.groupdict() | {"host": host, "target": slash + path}, iso)


def w3c(lines):
    """https://www.w3.org/TR/WD-logfile"""
    names = []
    for line in lines:
        if line.startswith("#Fields:"):
            names = line.split()[1:]
        elif line.strip() and not line.startswith("#"):
            columns = {name: value if value != "-" else None for name, value in zip(names, line.split())}
            query = columns.get("cs-uri-query")
            found = {"client": columns.get("c-ip"), "status": columns.get("sc-status"), "method": columns.get("cs-method")}
            found["target"] = f"{columns['cs-uri-stem']}?{query}" if query else columns.get("cs-uri-stem")
            found["bytes"] = int(columns["sc-bytes"]) if columns.get("sc-bytes") else None
            if columns.get("date") and columns.get("time"):
                found["time"] = utc(f"{columns['date']} {columns['time']}", "%Y-%m-%d %H:%M:%S")
            yield found


def iis(lines):
    """Columns in https://learn.microsoft.com/windows/win32/http/iis-logging"""
    for columns in filter(None, csv.reader(lines, skipinitialspace=True)):
        yield {"client": columns[0], "status": columns[10], "bytes": int(columns[9]), "method": columns[12], "target": columns[13]}


def cloudfront_2012(lines):
    for columns in filter(None, map(str.split, lines)):
        yield {"time": utc(" ".join(columns[:2]), "%Y-%m-%d %H:%M:%S"), "client": columns[4], "bytes": int(columns[3]), "method": columns[5], "status": columns[8]}


def cloudfront(lines):
    """Tabs between columns, of which the first twelve are the same in all years."""
    for line in lines:
        columns = line.split("\t")
        if len(columns) >= 12:
            yield {
                "time": utc(" ".join(columns[:2]), "%Y-%m-%d %H:%M:%S"),
                "bytes": int(columns[3]),
                "client": columns[4],
                "method": columns[5],
                "target": columns[7] + (f"?{columns[11]}" if columns[11] != "-" else ""),
                "status": columns[8],
            }


def keyed(values):
    """The keys and labels that alp proposes for nginx, and nearly so."""
    return {
        "time": clf_time(values["time"]) if "/" in values["time"] else iso(values["time"]),
        "client": values.get("remote_addr") or values.get("host"),
        "status": str(values["status"]),
        "bytes": int(values.get("body_bytes") or values["size"]),
        "method": values["method"],
        "target": values.get("uri") or values.get("path"),
    }


def ltsv(lines):
    for line in filter(None, lines):
        yield keyed(dict(member.partition(":")[::2] for member in line.split("\t")))


def nothing(lines):
    return ()


def objects(make):
    def read(lines):
        for line in lines:
            if (start := line.find("{")) >= 0:
                try:
                    values = json.loads(line[start:].rstrip().rstrip("'"))
                except ValueError:
                    continue
                if found := make(values):
                    yield found

    return read


def traefik_json(values):
    return "DownstreamStatus" in values and {
        "time": iso(values["StartUTC"]) if "StartUTC" in values else None,
        "client": values["ClientHost"],
        "status": str(values["DownstreamStatus"]) if values["DownstreamStatus"] else None,
        "bytes": values["DownstreamContentSize"],
        "method": values["RequestMethod"],
        "target": values["RequestPath"],
    }


def nginx_json(values):
    return {
        "time": float(values["msec"]),
        "client": values["remote_addr"],
        "status": str(values["status"]),
        "bytes": values["body_bytes_sent"],
    } | record({"request": values["request"]})


def azure_gateway(values):
    inner = values["properties"]
    query = inner.get("requestQuery")
    return {
        "time": iso(values.get("timeStamp") or values["time"]),
        "client": inner["clientIP"],
        "status": str(inner["httpStatus"]),
        "bytes": inner["sentBytes"],
        "method": inner["httpMethod"],
        "target": inner["requestUri"] + (f"?{query}" if query else ""),
    }


def haproxy_json(values):
    return {"client": values["client_ip"], "status": values["status_code"], "bytes": int(values["bytes_read"])} | record({"request": values["http_request"]})


def caddy_console(values):
    request = values.get("request")
    return request and {"status": str(values["status"]), "bytes": values["size"], "method": request["method"], "target": request["uri"]}


def bitbucket(lines):
    for columns in (line.split(" | ") for line in lines if line):
        yield {"client": columns[0].split(",")[0], "status": columns[7]} | record({"request": columns[5].strip('"'), "bytes": columns[9]})


def milliseconds(text):
    return utc(text, "%d/%b/%Y:%H:%M:%S.%f")


REFEREES = {
    "alb": load_balancer(1, 12),
    "atlassian": by_match(ATLASSIAN, whole=False),
    "azure_gateway": objects(azure_gateway),
    "bitbucket": bitbucket,
    "caddy_2015": by_match(CADDY_2015),
    "caddy_console": objects(caddy_console),
    "cloudfront": cloudfront,
    "cloudfront_2012": cloudfront_2012,
    "combined": by_match(COMBINED),
    "compose": nothing,
    "elb": load_balancer(0, 11),
    "firewall": nothing,
    "haproxy": by_match(HAPROXY, milliseconds),
    "haproxy_clf": by_match(HAPROXY_CLF, whole=False),
    "haproxy_json": objects(haproxy_json),
    "haproxy_own": by_match(HAPROXY_OWN, milliseconds, whole=False),
    "haproxy_tcp": nothing,
    "heroku": heroku,
    "heroku_2011": heroku_2011,
    "hue": by_match(HUE, whole=False),
    "icecast": by_match(COMBINED),
    "iis": iis,
    "json": objects(keyed),
    "lighttpd": by_match(LIGHTTPD),
    "ltsv": ltsv,
    "ltsv_blanks": nothing,
    "morgan": by_match(MORGAN, whole=False),
    "nginx_json": objects(nginx_json),
    "squid": squid,
    "ssl_request": by_match(SSL_REQUEST),
    "traefik": by_match(TRAEFIK),
    "traefik_json": objects(traefik_json),
    "uvicorn": by_match(UVICORN, whole=False),
    "uwsgi": by_match(UWSGI, lambda text: utc(text, "%a %b %d %H:%M:%S %Y"), whole=False),
    "vhost": by_match(VHOST),
    "w3c": w3c,
    "werkzeug": by_match(COMBINED, lambda text: utc(text, "%d/%b/%Y %H:%M:%S")),
    "waf": nothing,
}


def logs():
    for line in LOGS.strip().splitlines():
        kind, repository, commit, path = line.split(None, 3)
        yield kind, repository, commit, path


def run(folder, programs):
    for kind, repository, _, path in logs():
        log = folder / repository.replace("/", "+") / path
        yield compare(f"{kind}: {repository}/{path}", log, list(REFEREES[kind](text(log))), programs.rorqual)


def text(log):
    data = log.read_bytes()
    data = gzip.decompress(data) if log.suffix == ".gz" else data
    # As UTF-8; half a character is no reason to lose a line. Lines end in line feeds alone.
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(encoding, "replace").split("\n")


def compare(case, log, truth, program):
    answer = subprocess.run([program, "logs", "--json", log], capture_output=True, timeout=120)
    said = answer.stderr.decode(errors="replace").strip()
    if answer.returncode:
        return Verdict(case, not truth and bool(said), f"    {len(truth)} records by the referee; refused: {said.splitlines()[0] if said else 'nothing is said'}")
    report = json.loads(answer.stdout)
    if report["schema"] == _logs.TABLE:
        return Verdict(case, False, f"    {len(truth)} records by the referee; not read as a log, said by the schema")
    rows = [row_record(row) for row in _logs.records(log, program)]
    wrong = totals(truth, report) + differences(truth, rows)
    said = said.splitlines()[0] if said else "nothing"
    lines = report["lines"]
    return Verdict(case, not wrong, "    " + "\n    ".join([*wrong, f"said: {lines['rejected']} rejected, {lines['repaired']} repaired, {said}"]))


def row_record(row):
    found = {name: row.get(name) for name in ("client", "status", "host", "method", "bytes", "target")}
    found["time"] = iso(row["time"]) if row.get("time") else None
    return found


def totals(truth, report):
    """What the report counts beside the same of the referee's records."""
    known = lambda name: [record[name] for record in truth if record.get(name) is not None]
    counted = {"records": report["lines"]["parsed"], "bytes": report["bytes_sent"], "clients": report["clients"]["count"]}
    expected = {"records": len(truth), "bytes": sum(known("bytes")), "clients": len({address(client) for client in known("client")})}
    times = known("time")
    if times:
        counted["times"] = (report["time"]["first"], report["time"]["last"]) if report["time"] else None
        expected["times"] = (min(times), max(times))
    hits = {row["value"]: row["hits"] for row in report["status"] if row["value"] != "-"}
    statuses = known("status")
    counted["status"], expected["status"] = hits, {status: statuses.count(status) for status in set(statuses)}
    return [f"{name}: {counted[name]}, by the referee {expected[name]}" for name in counted if not same(counted[name], expected[name])]


def same(one, other):
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(abs(a - b) < 1e-3 if a is not None else False for a, b in zip(one, other))
    return one == other


def address(client):
    client = client.removeprefix("::ffff:") if client else client
    return client.lower() if client else client


def differences(truth, rows):
    """The first row that differs, for each field. No bytes and 0 bytes are one: servers write both as a dash."""
    wrong = {}
    if len(truth) != len(rows):
        return [f"{len(rows)} rows converted, {len(truth)} by the referee"]
    for number, (want, got) in enumerate(zip(truth, rows), 1):
        for name, value in want.items():
            found = got[name]
            if name == "time":
                equal = value is None or found is not None and abs(found - value) < 1e-3
            elif name == "client":
                equal = address(value) == address(found)
            elif name == "target":
                equal = (value or "").rstrip("?") == (found or "").rstrip("?")
            else:
                equal = (value or None) == (found or None)
            if not equal:
                wrong.setdefault(name, []).append(f"record {number}: {name} {found!r}, by the referee {value!r}")
    return [f"{found[0]} ({len(found)} such)" for found in wrong.values()]


def get(folder):
    """Gets the files."""
    for _, repository, commit, path in logs():
        log = folder / repository.replace("/", "+") / path
        if not log.exists():
            log.parent.mkdir(parents=True, exist_ok=True)
            address = f"https://raw.githubusercontent.com/{repository}/{commit}/{urllib.parse.quote(path)}"
            print(address)
            with urllib.request.urlopen(address, timeout=60) as answer:
                log.write_bytes(answer.read())


if __name__ == "__main__":
    get(Path(sys.argv[1]))
else:
    SUITE = Suite(
        "real_logs",
        "python3 tools/suites/real_logs.py real_logs",
        run,
        REASONS,
    )
