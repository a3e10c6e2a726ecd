/// A message of Web Push as its sender sees it. A sender that repeats a message sends another one.
struct SimulatedMessage {
    /// A deliberate fault of the request.
    enum Fault { case none, noTTL, forgedAddress, hugeBody, encoding }

    let number: Int
    let browser: Int
    /// The browser's identity when it got the address.
    let identity: String
    let address: String
    let fault: Fault
    let secondsToLive: Int
    let topic: String?
    let wantsReceipt: Bool
    /// The number and the time of the event in which it was sent.
    let sentAt: Int
    let sentStamp: Stamp
    var status: Int?
    /// Whether its result will never be known.
    var isLost = false
    /// The number of the event with its answer.
    var answeredAt: Int?
    /// The latest time at which the relay can have accepted it; nil before the answer.
    var latestAcceptance: Int64?
    /// Its URL.
    var location: String?

    /// Numbers of messages are beyond those of pushes, because both are on one disk.
    static let firstNumber = 1_000_000

    var payload: [UInt8] {
        Array("w\(Self.firstNumber + number) \(String(repeating: "x", count: number % 4 * 200))".utf8)
    }

    var isAccepted: Bool { status == 201 || status == 202 }
}

/// A receipt as its sender sees it.
struct SimulatedReceipt {
    let message: String
    let status: Int64
    /// The number of the event in which the sender heard that it is removed.
    var removedAt: Int?
}

/// Browsers and senders of Web Push, and everything that the observer knows about their messages.
final class SimulatedWeb {
    static let origin = "https://push.simulated"

    let browsers: [SimulatedBrowser]
    var senders: [SimulatedSender] = []
    var messages: [SimulatedMessage] = []
    /// The numbers of the messages to each address.
    var numbers: [String: [Int]] = [:]
    /// The URLs of receipt subscriptions.
    var subscriptions: [String] = []
    /// The receipts that senders have seen, by their URLs.
    var receipts: [String: SimulatedReceipt] = [:]
    /// The URLs of receipts, by those of their messages.
    var receiptOf: [String: String] = [:]
    /// The numbers of messages, by their URLs.
    var numberOf: [String: Int] = [:]
    /// For each address, the event in which the latest received message was sent.
    var youngest: [String: Int] = [:]
    /// The second of the run in which the relay has looked at connections that keep it waiting.
    var lookedAt: Int64 = 0
    var deliveries = 0

    init(_ findings: Findings) {
        browsers = (0..<3).map { SimulatedBrowser(index: $0, findings: findings) }
    }

    var sessions: [SimulatedBrowserSession] { browsers.compactMap(\.session) }

    func append(_ message: SimulatedMessage) {
        messages.append(message)
        numbers[message.address, default: []].append(message.number)
    }
}
