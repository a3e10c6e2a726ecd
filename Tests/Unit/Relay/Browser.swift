import Foundation
import Testing

/// A browser's end of a WebSocket.
final class Browser {
    let line: WebClientConnection

    init(_ line: WebClientConnection, path: String) {
        self.line = line
        line.send(
            "GET \(path) HTTP/1.1\r\nHost: push.example.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Protocol: push-notification\r\n\r\n")
    }

    func say(_ text: String) { say(opcode: 1, Array(text.utf8)) }

    func say(opcode: UInt8, _ payload: [UInt8]) {
        let length =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)]
            : [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        let mask: [UInt8] = [1, 2, 3, 4]
        line.send([0x80 | opcode] + length + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] })
    }

    func acknowledge(_ notification: [String: Any]) throws {
        let version = try #require(notification["version"] as? String)
        let channel = try #require(notification["channelID"] as? String)
        let update = #"{"channelID":"\#(channel)","version":"\#(version)","code":100}"#
        say(#"{"messageType":"ack","updates":[\#(update)]}"#)
    }

    /// The frames that have arrived, by opcode and payload.
    private var frames: [(opcode: UInt8, payload: [UInt8])] {
        guard let start = line.text.range(of: "\r\n\r\n") else { return [] }
        var rest = line.heard[line.text[..<start.upperBound].utf8.count...]
        var frames: [(UInt8, [UInt8])] = []
        while let first = rest.popFirst(), let second = rest.popFirst() {
            var count = Int(second)
            if second == 126 { count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst()) }
            frames.append((first & 0x0F, Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return frames
    }

    /// The messages that have arrived, in order.
    var messages: [[String: Any]] {
        frames.filter { $0.opcode == 1 }.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.payload)) as? [String: Any]
        }
    }

    /// The messages of a type.
    func messages(_ type: String) -> [[String: Any]] {
        messages.filter { $0["messageType"] as? String == type }
    }

    /// The identity in the answer to hello.
    var uaid: String? { messages("hello").last?["uaid"] as? String }

    /// The code of the close frame.
    var closeCode: Int? {
        frames.first { $0.opcode == 8 }.map { Int($0.payload[0]) << 8 | Int($0.payload[1]) }
    }

    /// The contents of the notifications that have arrived, in order.
    var contents: [String] {
        messages("notification").map { notification in
            let text = (notification["data"] as? String ?? "")
                .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
            return Data(base64Encoded: padded).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}
