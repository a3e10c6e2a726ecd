import FoundationEssentials
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// A provider's connection: it sends requests and gets one answer to each.
final class FleetProviderConnection: FleetConnection {
    /// An answer other than 200 that is not complete yet.
    private struct Refusal {
        var status: Int
        /// Whether it is a gRPC answer, which no push has: a 200 says nothing then.
        var isGRPC = false
        var body: [UInt8] = []
    }

    /// What an open stream was opened for.
    enum Exchange {
        /// A push, by its number.
        case push(UInt64)
        /// A broadcast, sent at this moment.
        case broadcast(UInt64)
    }

    private var exchanges = StreamTable<Exchange>()
    private var refusals: [Int32: Refusal] = [:]
    /// How many streams the server allows at once; 1 until its SETTINGS have arrived.
    private var streamLimit = 1
    private let mostStreams: Int
    private var isEnding = false
    /// Whether it was ever established: its end is not a failed attempt then.
    private(set) var hasOpened = false

    private unowned let pool: ProviderPool

    init(of pool: ProviderPool, streams: Int) {
        self.pool = pool
        var settings = SessionSettings()
        settings.maxHeaderListBytes = 65_536
        mostStreams = streams
        super.init(pool.meter, settings: settings)
    }

    /// Whether another request can be made now.
    var hasRoom: Bool { wire != nil && !isEnding && exchanges.count < min(streamLimit, mostStreams) }

    /// Makes a request. Returns false if the connection takes no more.
    func send(_ head: HeaderBlock, _ body: [UInt8], _ exchange: Exchange) -> Bool {
        do throws(SessionError) {
            exchanges.add(exchange, for: try streams.request(head, body: body))
        } catch {
            isEnding = true
            close()
            return false
        }
        setNeedsFlush()
        return true
    }

    override func opened() {
        hasOpened = true
        pool.outcomes.mayPush = true
    }

    override func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        var (status, isGRPC) = (0, false)
        block.forEach { name, value in
            // `:status` is the only pseudo-header field of an answer (RFC 9113, section 8.3.2).
            guard status == 0, name[0] == UInt8(ascii: ":") else {
                if name.spells("content-type") { isGRPC = value.begins(with: "application/grpc") }
                return
            }
            for index in value.indices { status = status * 10 + Int(value[index] &- 0x30) }
        }
        if status == 200, !isGRPC {
            guard let exchange = exchanges.remove(stream) else { return }
            pool.outcomes.accepted(exchange)
        } else {
            refusals[stream] = Refusal(status: status, isGRPC: isGRPC)
        }
    }

    override func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard let count = refusals[stream]?.body.count, count + bytes.count <= 4096 else { return }
        refusals[stream]?.body.append(copying: bytes)
    }

    override func ended(_ stream: Int32) {
        guard let refusal = refusals.removeValue(forKey: stream),
            let exchange = exchanges.remove(stream)
        else { return }
        pool.outcomes.refused(exchange, Self.reason(refusal))
    }

    override func closed(_ stream: Int32, errorCode: UInt32) {
        refusals[stream] = nil
        guard let exchange = exchanges.remove(stream) else { return }
        if errorCode == ErrorCode.refusedStream {
            pool.outcomes.refused(exchange, "stream refused")
        } else {
            pool.outcomes.unanswered(exchange)
        }
    }

    override func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) { isEnding = true }

    override func settingsReceived(maxConcurrentStreams: UInt32) {
        streamLimit = Int(clamping: maxConcurrentStreams)
        pool.outcomes.mayPush = true
    }

    override func ended(_ reason: CloseReason) { pool.ended(self, reason) }

    private static func reason(_ refusal: Refusal) -> String {
        guard !refusal.isGRPC else { return "answered with gRPC: this is no provider API" }
        struct Body: Decodable { let reason: String? }
        let body = try? JSONDecoder().decode(Body.self, from: Data(refusal.body))
        return body?.reason ?? "status \(refusal.status)"
    }
}
