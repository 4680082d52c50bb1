//! Formats that servers, proxies and clouds have of their own, written as nginx would: `$name` for
//! a field that is read, any other name for one that is stepped over.

/// Names and format strings, the more particular first.
pub(super) const SERVERS: &[(&str, &str)] = &[
    // Elastic Load Balancing: the times are seconds, -1 where no target took the request, whose
    // target is absolute.
    (
        "aws_alb",
        r#"$type $time_iso8601 $elb $remote_addr $target $request_processing_time $upstream_response_time $response_processing_time $status $target_status $received_bytes $bytes_sent "$absolute_request" "$http_user_agent" $ssl_cipher $ssl_protocol $more"#,
    ),
    (
        "aws_elb",
        r#"$time_iso8601 $elb $remote_addr $backend $request_processing_time $upstream_response_time $response_processing_time $status $backend_status $received_bytes $bytes_sent "$absolute_request" "$http_user_agent" $ssl_cipher $ssl_protocol"#,
    ),
    // Until 2015 lines ended with the request.
    (
        "aws_elb_short",
        r#"$time_iso8601 $elb $remote_addr $backend $request_processing_time $upstream_response_time $response_processing_time $status $backend_status $received_bytes $bytes_sent "$absolute_request""#,
    ),
    // Amazon S3: its total time is milliseconds. Fields are added at the end as years go by.
    (
        "aws_s3",
        r#"$bucket_owner $bucket [$time_local] $remote_addr $remote_user $request_id $operation $key "$request" $status $error_code $bytes_sent $object_size $request_time_ms $turn_around_time "$http_referer" "$http_user_agent" $version_id $host_id $signature_version $cipher_suite $authentication $host $more"#,
    ),
    (
        "aws_s3_short",
        r#"$bucket_owner $bucket [$time_local] $remote_addr $remote_user $request_id $operation $key "$request" $status $error_code $bytes_sent $object_size $request_time_ms $turn_around_time "$http_referer" "$http_user_agent" $version_id"#,
    ),
    // Before objects had versions.
    (
        "aws_s3_unversioned",
        r#"$bucket_owner $bucket [$time_local] $remote_addr $remote_user $request_id $operation $key "$request" $status $error_code $bytes_sent $object_size $request_time_ms $turn_around_time "$http_referer" "$http_user_agent""#,
    ),
    // HAProxy, `option httplog`: TR/Tw/Tc/Tr/Ta in milliseconds, and captured headers before the
    // request.
    (
        "haproxy",
        r#"$remote_addr [$time_local_ms] $frontend $backend $request_wait/$queue_wait/$connect_wait/$upstream_response_time_ms/$request_time_ms $status $bytes_sent $request_cookie $response_cookie $termination $connections $queues_and_captured "$request""#,
    ),
    // The same with `option httpslog`: errors of the connection and names of TLS after the request.
    (
        "haproxy_https",
        r#"$remote_addr [$time_local_ms] $frontend $backend $request_wait/$queue_wait/$connect_wait/$upstream_response_time_ms/$request_time_ms $status $bytes_sent $request_cookie $response_cookie $termination $connections $queues_and_captured "$request" $errors/$ssl_version/$ssl_cipher"#,
    ),
    // Envoy's default, and Istio's, which is longer; DURATION is milliseconds.
    (
        "istio",
        r#"[$time_iso8601] "$request" $status $response_flags $response_details $connection_details "$transport_failure" $bytes_received $bytes_sent $request_time_ms $upstream_response_time_ms "$forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream_host" $cluster $local_upstream $local_downstream $remote_addr $requested_server_name $route_name"#,
    ),
    (
        "envoy",
        r#"[$time_iso8601] "$request" $status $response_flags $bytes_received $bytes_sent $request_time_ms $upstream_response_time_ms "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream_host""#,
    ),
    // Squid's native format: `%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt`.
    (
        "squid",
        r#"$msec $request_time_ms $remote_addr $result/$status $bytes_sent $request_method $request_uri $remote_user $hierarchy $content_type"#,
    ),
    // Nginx Proxy Manager: `proxy` of hosts that it passes on, `standard` of all others.
    (
        "nginx_proxy_manager",
        r#"[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] "$http_user_agent" "$http_referer""#,
    ),
    (
        "nginx_proxy_manager_standard",
        r#"[$time_local] $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] "$http_user_agent" "$http_referer""#,
    ),
    (
        "npmplus",
        r#"[$time_local] $host $remote_addr $request_time "$request" $status $body_bytes_sent $bytes_sent $http_referer $http_user_agent"#,
    ),
    // BunkerWeb's LOG_FORMAT by default.
    (
        "bunkerweb",
        r#"$host $remote_addr - $request_id $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
    ),
    // Zoraxy, whose times are of the machine's own zone, which it does not write.
    (
        "zoraxy",
        "[$time_iso8601] [router:$router] [origin:$host] [client: $remote_addr] [useragent: $http_user_agent] $request_method $request_uri $status",
    ),
    // cPanel & WHM, whose months are numbers and come first; the last fields are how the user
    // signed in, X-Forwarded-For and the port.
    ("cpanel", r#"%h %l %u [%{%m/%d/%Y:%T %z}t] "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%{auth}n" "%{X-Forwarded-For}i" %p"#),
    // uWSGI's default; its times are of the machine's own zone, which it does not write. The second
    // with `log-micros`.
    (
        "uwsgi",
        "[pid: $process] $remote_addr ($remote_user) {$vars} [$time_ctime] $request_method $request_uri => generated $body_bytes_sent bytes in $request_time_ms msecs$via ($server_protocol $status) $headers",
    ),
    (
        "uwsgi_micros",
        "[pid: $process] $remote_addr ($remote_user) {$vars} [$time_ctime] $request_method $request_uri => generated $body_bytes_sent bytes in $request_time_us micros$via ($server_protocol $status) $headers",
    ),
    // Heroku's router, as `heroku logs` prints it and as its drains pass it on. Its times end in
    // their unit; newer lines have the protocol, others end before it.
    (
        "heroku",
        r#"$time_iso8601 heroku[router]: at=$level method=$request_method path="$request_uri" host=$host request_id=$id fwd="$http_x_forwarded_for" dyno=$dyno connect=$connect_time service=$request_time status=$status bytes=$bytes_sent protocol=$protocol"#,
    ),
    (
        "heroku_short",
        r#"$time_iso8601 heroku[router]: at=$level method=$request_method path="$request_uri" host=$host request_id=$id fwd="$http_x_forwarded_for" dyno=$dyno connect=$connect_time service=$request_time status=$status bytes=$bytes_sent"#,
    ),
    (
        "heroku_drain",
        r#"$priority $time_iso8601 $drain heroku router - at=$level method=$request_method path="$request_uri" host=$host request_id=$id fwd="$http_x_forwarded_for" dyno=$dyno connect=$connect_time service=$request_time status=$status bytes=$bytes_sent protocol=$protocol"#,
    ),
    // Confluence and Jira, by the valve in their server.xml: newer ones with X-Forwarded-For before
    // the user.
    (
        "atlassian_forwarded",
        r#"[$time_local] $http_x_forwarded_for $remote_user $thread $remote_addr $request_method $request_uri $server_protocol $status ${request_time_ms}ms $body_bytes_sent $http_referer $http_user_agent"#,
    ),
    (
        "atlassian",
        r#"[$time_local] $remote_user $thread $remote_addr $request_method $request_uri $server_protocol $status ${request_time_ms}ms $body_bytes_sent $http_referer $http_user_agent"#,
    ),
    // uvicorn, whose lines have no time: as it prints them, and under gunicorn.
    ("uvicorn", r#"$remote_addr - "$request" $status $reason"#),
    ("uvicorn_worker", r#"$remote_addr - "$request" $status"#),
    // Apache's ssl_request_log: `%t %h %{SSL_PROTOCOL}x %{SSL_CIPHER}x "%r" %b`.
    ("ssl_request", r#"[$time_local] $remote_addr $ssl_protocol $ssl_cipher "$request" $body_bytes_sent"#),
];
