import Foundation
import Glibc
import PostriderTransport
import Synchronization

/// A receiver of callbacks on a port of its own: HTTP/1.1, one request on each connection.
final class Receiver: Sendable {
    /// A request as it arrived.
    struct Request: Sendable {
        let line: String
        let fields: [String: String]
        let body: String
    }

    /// What a receiver answers to its request of this number, counted from 1; nil: it never answers.
    typealias Answer = @Sendable (Int, Request) -> String?

    private let socket: ListeningSocket
    private let requests = Mutex<[Request]>([])
    private let held = Mutex<[Int32]>([])
    /// Yields each request.
    let arrivals: AsyncStream<Request>
    private let arrival: AsyncStream<Request>.Continuation

    init(_ answer: @escaping Answer = { _, _ in Receiver.ok }) throws {
        socket = try ListeningSocket(SocketAddress("127.0.0.1:0"))
        (arrivals, arrival) = AsyncStream<Request>.makeStream()
        let descriptor = try socket.duplicate()
        Foundation.Thread.detachNewThread { [self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else {
                    guard errno == EAGAIN else { break }
                    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    unsafe poll(&wait, 1, -1)
                    continue
                }
                Foundation.Thread.detachNewThread { [self] in serve(client, answer) }
            }
        }
    }

    deinit { held.withLock { for client in $0 { close(client) } } }

    /// The URL of a path.
    func url(_ path: String = "/") -> String { "http://\(socket.address)\(path)" }

    /// The requests until now.
    var all: [Request] { requests.withLock { $0 } }

    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

    static func status(_ status: Int, _ field: String = "X-None: none") -> String {
        "HTTP/1.1 \(status) Said\r\nContent-Length: 0\r\n\(field)\r\nConnection: close\r\n\r\n"
    }

    private func serve(_ client: Int32, _ answer: Answer) {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(client, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            data += buffer[..<count]
            guard let request = Self.request(data) else { continue }
            let number = requests.withLock { requests in
                requests.append(request)
                return requests.count
            }
            arrival.yield(request)
            guard let text = answer(number, request) else { return held.withLock { $0.append(client) } }
            let bytes = Array(text.utf8)
            unsafe send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            break
        }
        close(client)
    }

    /// The request in these bytes; nil if it is not complete.
    private static func request(_ data: Data) -> Request? {
        guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = data[end.upperBound...]
        guard body.count >= Int(fields["content-length"] ?? "0") ?? 0 else { return nil }
        return Request(line: lines[0], fields: fields, body: String(decoding: body, as: UTF8.self))
    }
}
