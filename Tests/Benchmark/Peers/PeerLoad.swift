import Foundation
import PostriderTLS
import PostriderTransport

/// The load generator for brokers with other protocols. It connects subscribers to a broker, each with its own topic,
/// and publishes to them, over the sockets and TLS code of `postrider load`. It prints its progress and its
/// measurements as lines of JSON; its parent process measures the broker's process meanwhile.
@main
enum PeerLoad {
    private static let usage = """
        usage: peer-load mqtt|nchan|https ADDRESS:PORT CA SUBSCRIBERS idle|in-flight|rate NUMBER SECONDS
        """

    static func main() {
        do {
            guard let order = Order(CommandLine.arguments.dropFirst()) else { throw Complaint(text: usage) }
            let loop = try EventLoop()
            let tls = try TLSContext.client(trustFile: order.trustFile, alpn: order.protocols)
            let crowd = try Crowd(order, on: loop, tls: tls)
            crowd.begin()
            loop.run()
            if let complaint = crowd.complaint { throw complaint }
        } catch {
            FileHandle.standardError.write(Data("peer-load: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// The reason for which a run failed.
struct Complaint: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

/// The parsed arguments.
struct Order {
    enum Broker: String { case mqtt, nchan, https }

    enum Pace {
        /// Nothing is published.
        case idle
        /// The next message is sent when fewer than this many are sent but not both acknowledged and received.
        case inFlight(Int)
        /// This many messages per second, sent on schedule.
        case rate(Int)
    }

    let broker: Broker
    let address: SocketAddress
    let trustFile: String
    let subscribers: Int
    let pace: Pace
    let seconds: Int

    /// Parses the command line.
    init?(_ words: ArraySlice<String>) {
        let words = Array(words)
        guard words.count == 7, let broker = Broker(rawValue: words[0]),
            let address = try? SocketAddress(words[1]), let subscribers = Int(words[3]), subscribers > 0,
            let number = Int(words[5]), let seconds = Int(words[6]), seconds > 0
        else { return nil }
        switch words[4] {
        case "idle": pace = .idle
        case "in-flight" where number > 0: pace = .inFlight(number)
        case "rate" where number > 0: pace = .rate(number)
        default: return nil
        }
        (self.broker, self.address, trustFile) = (broker, address, words[2])
        (self.subscribers, self.seconds) = (subscribers, seconds)
    }

    /// The protocols that TLS offers.
    var protocols: [String] {
        switch broker {
        case .mqtt: ["mqtt"]
        case .nchan, .https: ["h2"]
        }
    }
}
