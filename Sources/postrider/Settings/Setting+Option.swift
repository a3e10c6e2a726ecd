import PostriderCommands
import PostriderNotifications
import PostriderOptions

extension Setting {
    /// The command line option of the setting.
    var option: Option { Option(name: rawValue, argument: argument, help: help) }

    private var argument: Option.Argument {
        switch self {
        case .providerAddress, .developmentProviderAddress, .deviceAddress, .webAddress:
            .required("ADDRESS,…")
        case .publicURL: .required("https://…")
        case .privateKeyGroup: .required("GROUP,…")
        case .loadBalancers: .required("NETWORK,…")
        case .onPresence: .required("PROGRAM,ARGUMENT,…")
        case .lookupKeys, .lookupAllKeys: .required("KEY,…")
        case .callbackAllow: .required("URL,…")
        case .otlpEndpoint: .required("URL")
        case .quotas: .required("QUOTA,…")
        case .controlAddress: .required("unix:PATH")
        case .metricsAddress, .consoleAddress, .capturesAddress: .required("ADDRESS|off")
        case .certificate, .privateKey, .providerTrust, .metricsToken, .callbackSecret, .clusterCertificate,
            .clusterKey, .clusterTrust:
            .file("FILE")
        case .nodeName: .required("NAME")
        case .clusterAddress: .required("ADDRESS")
        case .clusterPublicAddress: .required("HOST:PORT")
        case .dataDirectory: .file("DIRECTORY")
        case .store: .required("postgresql://…")
        case .shards, .busyPollingMicroseconds, .providerIdleSeconds, .pushesPerSecond, .deviceFetches,
            .deviceExpiryDays, .sourceConnections, .sourceRate, .traceSample, .traceMebibytes, .otlpSample:
            .required("NUMBER")
        case .strictness, .storage, .spellings, .requestHeaders, .deviceLinks, .tlsRecords: .required("WORD")
        case .acceptLosses, .streamLimitRamp, .trace, .capture, .consolePayloads: .required("true|false")
        case .logLevel: .required("LEVEL")
        case .logFormat: .required("text|json|journal")
        }
    }

    private var help: String {
        switch self {
        case .providerAddress:
            "The addresses for providers, one or several; 0.0.0.0:2197 if not given. *:2197 means all "
                + "addresses of this machine, port 0 any free port."
        case .developmentProviderAddress:
            "The addresses for providers of the development environment; none if not given."
        case .deviceAddress: "The addresses for devices; 0.0.0.0:5223 if not given."
        case .controlAddress:
            "The Unix socket for the operator's commands; control.sock in the data directory if not given."
        case .metricsAddress:
            "The address of /metrics, /livez and /readyz; \(Settings.usualMetricsAddress) if not given. An "
                + "address that other machines can reach needs --metrics-token."
        case .metricsToken:
            "A file with the SHA-256 of each bearer token that may read the metrics, one per line."
        case .webAddress:
            "The addresses for Web Push, HTTPS with the relay's certificate: senders, and browsers as "
                + "devices; none if not given."
        case .publicURL:
            "The URL under which senders reach web-address, without a path; required with web-address."
        case .consoleAddress:
            "The address of the console, HTTPS with the relay's certificate; off if not given."
        case .consolePayloads: "Whether the console shows payloads of captures; false if not given."
        case .certificate: "The relay's certificate and its intermediate certificates, PEM."
        case .privateKey: "The key of the certificate, PEM, in a file that other users cannot read."
        case .privateKeyGroup: "Groups, besides root's, whose members may read the key; none if not given."
        case .providerTrust:
            "The authorities, PEM, of providers' client certificates; if not given, providers can use "
                + "tokens only."
        case .tlsRecords:
            "own (if not given) or openssl: the record layer of TLS 1.3 connections after the handshake."
        case .dataDirectory: "The directory of everything that must not be lost; created if it is missing."
        case .store:
            "The PostgreSQL database that has keys, devices and stored notifications, as a connection "
                + "string; files in the data directory if not given."
        case .acceptLosses:
            "Whether a database is used that may lose what it has committed; false if not given."
        case .nodeName: "The name of this node in its cluster; the host's name if not given."
        case .clusterAddress:
            "The address for the other nodes of a cluster, which makes the relay a node; none if not given."
        case .clusterPublicAddress:
            "The host and port at which the other nodes reach this one; cluster-address if not given."
        case .clusterCertificate:
            "The node's certificate, PEM, for links between nodes; required with cluster-address."
        case .clusterKey: "The key of the node's certificate, PEM; required with cluster-address."
        case .clusterTrust:
            "The authority of the nodes' certificates, PEM; required with cluster-address."
        case .sourceConnections:
            "The most open connections of one source address; half of the descriptors if not given."
        case .sourceRate:
            "The most connections that one source address may begin per second; \(Limits.sourceRate) if not "
                + "given."
        case .loadBalancers:
            "Load balancers, by address or network, whose connections must begin with a PROXY header that "
                + "names the client; none if not given."
        case .shards: "Event loops, each with its own thread; one for each core if not given."
        case .busyPollingMicroseconds:
            "How long a shard polls for more work before it sleeps; 0, not at all, if not given."
        case .providerIdleSeconds:
            "Seconds without a push after which a provider's connection is closed; "
                + "\(Limits.providerIdleSeconds.usual) if not given."
        case .pushesPerSecond:
            "The most pushes per second to one device token; \(Limits.pushesPerSecond) if not given, 0 for "
                + "no limit."
        case .quotas:
            "Quotas of teams and topics, such as 'team=DEF123GHIJ pushes-per-second=100 pending=10000'; none "
                + "if not given."
        case .deviceFetches:
            "Devices whose stored notifications one shard reads at once, while others are asked to come "
                + "back later; \(Limits.fetches.usual) if not given."
        case .deviceExpiryDays:
            "Days without a connection after which a device's tokens expire; never if not given."
        case .onPresence:
            "A program with its arguments to run when devices connect and leave; none if not given."
        case .lookupKeys:
            "Keys of providers that may look up device tokens by the names and tags of devices, and ask what "
                + "has become of a push; none if not given."
        case .lookupAllKeys:
            "Keys of providers that may do so, and also list every device that has their app; none if not "
                + "given."
        case .callbackAllow:
            "Where providers may have callbacks sent: URLs, and all below them; nowhere if not given."
        case .callbackSecret:
            "A file with the secret that signs callbacks, whsec_ and base64; required for callbacks."
        case .otlpEndpoint:
            "The base URL of an OpenTelemetry receiver, such as http://127.0.0.1:4318, that gets the spans "
                + "of pushes; none if not given."
        case .otlpSample:
            "Of the pushes without a trace context, one of this many has spans; none if not given."
        case .strictness:
            "strict refuses pushes whose type, topic and priority do not fit together; lenient if not given."
        case .storage:
            "What is stored for an absent device: queue (all, with a limit; if not given) or latest (the "
                + "newest of each app)."
        case .spellings:
            "documented (if not given) or live: the spelling of reasons that Apple spells in two ways."
        case .streamLimitRamp:
            "Whether a provider may have only one stream until its first valid push; false if not given."
        case .requestHeaders:
            "The decoder for header blocks of providers' requests: own (if not given) or nghttp2."
        case .deviceLinks:
            "The HTTP/2 code of a device's link once it is open: lean (if not given) or nghttp2."
        case .trace: "Whether the relay records the life of pushes for 'postrider trace'; true if not given."
        case .traceSample: "Trace one of this many pushes; 1, every push, if not given."
        case .traceMebibytes:
            "The most disk space of the trace, in MiB; \(Limits.traceMebibytes.usual) if not given."
        case .capture:
            "Whether the relay stores requests for 'postrider captures'; false if not given, and only "
                + "possible if no other machine can reach the relay."
        case .capturesAddress:
            "With capture, the address of captures and rules over HTTP/1.1, such as "
                + "\(CapturesService.usualAddress), for everybody on this machine; off if not given."
        case .logLevel: "error, warning, notice, info (if not given) or debug."
        case .logFormat: LogFormat.help
        }
    }
}
