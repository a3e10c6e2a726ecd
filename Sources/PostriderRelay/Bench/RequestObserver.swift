import PostriderCaptures
import PostriderCrypto
import PostriderHTTP2
import PostriderNotifications
import PostriderProviderAPI
import PostriderRules
import PostriderTransport

/// The test bench's records of one provider connection: the capture numbers of its open requests, and what is still to
/// be done to them.
final class RequestObserver {
    let bench: TestBench
    /// What rules do to the connection.
    let effects = ConnectionEffects()
    /// The connection's number in captures; a connection without a request gets none.
    private(set) lazy var connection = bench.drawConnection()
    private var padding = PaddingCounter()
    /// The capture numbers of open requests, by stream.
    private var numbers: [Int32: Int] = [:]
    /// GOAWAYs that follow the answers on these streams.
    var goaways: [Int32: Goaway] = [:]
    /// Delayed actions, by stream.
    private var timers: [Int32: any LoopTimer] = [:]
    /// Answers of which only a part was sent, by stream.
    private var stalls: [Int32: any LoopTimer] = [:]
    /// The way to the server that requests are passed on to; nil before the first one.
    private var upstream: (any UpstreamConnection)?
    /// Whether that server did not get the last request.
    private var isUpstreamAway = false

    init(_ bench: TestBench) { self.bench = bench }

    /// Bytes of the provider have arrived, which the connection gets next.
    func arrived(_ bytes: Span<UInt8>) { padding.receive(bytes) }

    /// A request is complete: captures it.
    func began(
        _ request: PushRequest, _ stream: Int32, in environment: Environment, from peer: Peer?, at now: Moment
    ) {
        let headers = request.headers
        let authorization = headers.first { $0.name == "authorization" }?.value
        let capture = Capture(
            at: now, environment: environment, connection: captured(peer),
            stream: Capture.Stream(number: stream, padding: padding.take(stream)), headers: headers,
            claims: authorization.flatMap(TokenClaims.init(authorization:)), body: request.body,
            bodyByteCount: request.bodyByteCount, identity: String(decoding: request.echo, as: UTF8.self))
        numbers[stream] = bench.add(capture)
    }

    /// Notes a rule's decision about a request.
    func decided(_ decision: RuleDecision, on stream: Int32) {
        guard let number = numbers[stream] else { return }
        bench.note(number) { $0.rule = Capture.Rule(number: decision.rule, name: decision.name) }
    }

    /// The way to the server that requests are passed on to; nil if this relay answers them itself.
    func upstreamConnection(on scheduler: any Scheduler) -> (any UpstreamConnection)? {
        if upstream == nil { upstream = bench.upstream?.makeConnection(on: scheduler) }
        return upstream
    }

    /// Notes what became of a request that was passed on, and logs the first time that the server is away.
    func noteUpstream(_ result: UpstreamResult, on stream: Int32, log: Log) {
        if let number = numbers[stream] {
            bench.note(number) { capture in
                capture.upstreamError = result.error
                if case .response(_, let fields, _) = result {
                    capture.identity = fields.first { $0.name == "apns-id" }?.value ?? capture.identity
                }
            }
        }
        guard case .notSent(let reason) = result else { return isUpstreamAway = false }
        if !isUpstreamAway {
            log.warning(
                "a request was not passed on to \(bench.upstream?.place ?? ""): \(reason); providers get 503 "
                    + "ServiceUnavailable")
        }
        isUpstreamAway = true
    }

    /// A push is about to be sent to the home of its device.
    func posting(_ stream: Int32) {
        if let number = numbers[stream] { bench.expectLife(of: number) }
    }

    /// Notes the end of a request, with its answer if there was one.
    func ended(_ stream: Int32, _ outcome: Capture.Outcome, answer: Capture.Answer? = nil) {
        timers[stream] = nil
        guard let number = numbers.removeValue(forKey: stream) else { return }
        bench.note(number) {
            $0.outcome = outcome
            $0.answer = answer
        }
    }

    /// Gives up the streams that the provider has closed before they were answered. Returns whether there were any.
    func abandon(allBut isOpen: (Int32) -> Bool) -> Bool {
        let gone = numbers.keys.filter { !isOpen($0) }
        for stream in gone {
            goaways[stream] = nil
            ended(stream, .abandoned)
        }
        return !gone.isEmpty
    }

    /// Does something later, unless the stream ends before.
    func later(
        _ milliseconds: Int, _ stream: Int32, on scheduler: any Scheduler, _ work: @escaping () -> Void
    ) {
        let timer = scheduler.makeTimer(work)
        timer.arm(afterMilliseconds: milliseconds)
        timers[stream] = timer
    }

    /// Sends the rest of an answer later; the request itself has ended.
    func stall(
        _ milliseconds: Int, _ stream: Int32, on scheduler: any Scheduler, _ work: @escaping () -> Void
    ) {
        let timer = scheduler.makeTimer { [unowned self] in
            stalls[stream] = nil
            work()
        }
        timer.arm(afterMilliseconds: milliseconds)
        stalls[stream] = timer
    }

    private func captured(_ peer: Peer?) -> Capture.Connection {
        let shown = peer?.certificate.flatMap { CertificateDetails(der: $0.der) }
        return Capture.Connection(
            number: connection, peer: peer?.address ?? "", alpn: peer?.negotiatedProtocol,
            tls: peer?.tls.map {
                Capture.TLS(version: $0.version, cipher: $0.cipher, serverName: $0.serverName)
            },
            certificate: shown?.commonName ?? shown?.userIdentifier,
            certificateFingerprint: shown?.fingerprint.description)
    }
}

extension PushRequest {
    /// All fields as text; slow.
    var headers: [Capture.Field] {
        var fields: [Capture.Field] = []
        forEachField { name, value in fields.append(Capture.Field(name: name.text, value: value.text)) }
        return fields
    }

    /// The device token in the path, in lower case; nil if the path is not one of a device.
    var deviceToken: String? {
        guard let path = text(.path), path.hasPrefix("/3/device/") else { return nil }
        return String(path.dropFirst("/3/device/".count)).lowercased()
    }

    /// Whether its token is well-formed but was never given out by the relay of this codec.
    func hasStrangeToken(to codec: DeviceTokenCodec) -> Bool {
        let digits = Array((deviceToken ?? "").utf8)
        guard digits.count >= Limits.strangeTokenDigits, PushValidator.isToken(digits.span) else {
            return false
        }
        return DeviceToken(hex: digits.span).flatMap { codec.open($0) } == nil
    }
}

extension Span<UInt8> {
    fileprivate var text: String { String(decoding: Array(copying: self), as: UTF8.self) }
}
