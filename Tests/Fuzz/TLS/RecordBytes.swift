@testable import PostriderTLS

/// TLS records after a handshake, valid or not, from a peer that has the keys, and bytes from a peer without them.
///
/// The first byte chooses the suite. Then come steps, each with a letter, a length and bytes: `r`, the plaintext of a
/// record that the peer seals; `b`, raw bytes; `s`, content that the server sends.
enum RecordBytes {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let first = input.first else { return }
        let suite = RecordSuite.allCases[Int(first) % RecordSuite.allCases.count]
        var stage = try Stage.make(suite)
        var rest = input.dropFirst()
        while let step = rest.popFirst(), let length = rest.popFirst() {
            let bytes = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            switch step {
            case UInt8(ascii: "r"): try stage.seal(bytes)
            case UInt8(ascii: "b"): try stage.forge(bytes)
            case UInt8(ascii: "s"): try stage.say(bytes)
            default: return
            }
            if stage.isOver { return }
        }
    }

    /// The expected result of a record, which depends on its plaintext alone.
    private enum Meaning: Equatable {
        case content([UInt8])
        case nothing
        case newKey(wantsOurs: Bool)
        case end
        case violation
    }

    /// - Parameter begun: the beginning of a KeyUpdate from earlier records.
    private static func meaning(of inside: [UInt8], after begun: inout [UInt8]) -> Meaning {
        guard let last = inside.lastIndex(where: { $0 != 0 }) else { return .violation }
        let content = Array(inside[..<last])
        switch (inside[last], content) {
        case (23, _) where !begun.isEmpty: return .violation
        case (23, []): return .nothing
        case (23, _): return .content(content)
        case (22, _) where !content.isEmpty:
            begun += content
            guard begun.count == 5 else {
                return [24, 0, 0, 1].starts(with: begun) ? .nothing : .violation
            }
            guard begun.starts(with: [24, 0, 0, 1]), begun[4] <= 1 else { return .violation }
            defer { begun = [] }
            return .newKey(wantsOurs: begun[4] == 1)
        case (21, _) where content.count == 2 && content[1] == 0: return .end
        case (21, _) where content.count == 2 && content[1] == 90: return .nothing
        default: return .violation
        }
    }

    /// Both ends of a stream.
    private struct Stage: ~Copyable {
        let suite: RecordSuite
        let ciphers: AEADContexts
        var server: RecordLayer
        var sending: TrafficKey
        var receiving: TrafficKey
        var isOver = false
        /// Whether the server must change its sending key.
        var owes = false
        /// The number of consecutive records without content.
        var idle = 0
        /// The beginning of a KeyUpdate.
        var begun: [UInt8] = []

        /// Makes both ends with the same keys.
        static func make(_ suite: RecordSuite) throws(Contradiction) -> Stage {
            let ciphers = AEADContexts()
            let sending = try key(3, suite, ciphers)
            let receiving = try key(4, suite, ciphers)
            let serverReceiving = try key(3, suite, ciphers)
            let serverSending = try key(4, suite, ciphers)
            let server = RecordLayer(suite, receiving: serverReceiving, sending: serverSending)
            return Stage(
                suite: suite, ciphers: ciphers, server: server, sending: sending, receiving: receiving)
        }

        private init(
            suite: RecordSuite, ciphers: AEADContexts, server: consuming RecordLayer,
            sending: consuming TrafficKey, receiving: consuming TrafficKey
        ) {
            self.suite = suite
            self.ciphers = ciphers
            self.server = server
            self.sending = sending
            self.receiving = receiving
        }

        private static func key(
            _ byte: UInt8, _ suite: RecordSuite, _ ciphers: AEADContexts
        ) throws(Contradiction) -> TrafficKey {
            let secret = SecretBytes(count: suite.secretBytes)
            let bytes = unsafe secret[0..<suite.secretBytes]
            unsafe bytes.update(repeating: byte)
            do throws(RecordViolation) {
                return try unsafe TrafficKey(bytes, suite, ciphers.derivation)
            } catch {
                throw Contradiction(error.sentence)
            }
        }

        mutating func seal(_ inside: [UInt8]) throws(Contradiction) {
            let length = inside.count + RecordSuite.tagBytes
            var record = [23, 3, 3, UInt8(length >> 8), UInt8(length & 0xFF)] + inside
            record += [UInt8](repeating: 0, count: RecordSuite.tagBytes)
            try unsafe record.withUnsafeMutableBufferPointer { bytes throws(Contradiction) in
                try Self.withoutFailure { () throws(RecordViolation) in
                    try unsafe ciphers.seal(bytes, &sending, suite)
                }
            }
            let meaning = RecordBytes.meaning(of: inside, after: &begun)
            switch meaning {
            case .content: idle = 0
            case .nothing, .newKey: idle += 1
            case .end, .violation: isOver = true
            }
            isOver = isOver || idle > RecordLayer.mostIdleRecords
            let result = take(record)
            guard case .newKey(let wantsOurs) = meaning, !isOver else {
                let isTolerated = idle <= RecordLayer.mostIdleRecords
                return try hold(
                    result == (isTolerated ? meaning : .violation), "a record means something else")
            }
            try hold(result == .nothing, "a new key is not taken")
            try Self.withoutFailure { () throws(RecordViolation) in try sending.advance(ciphers.derivation) }
            owes = owes || wantsOurs
        }

        /// Gives the server bytes of a peer without keys: they are refused, or are the beginning of a record.
        mutating func forge(_ bytes: [UInt8]) throws(Contradiction) {
            let isWhole = bytes.count >= 5 && bytes.count - 5 >= Int(bytes[3]) << 8 + Int(bytes[4])
            let result = take(bytes)
            try hold(result == .violation || result == nil && !isWhole, "a record without a key is taken")
            isOver = result == .violation
        }

        /// Gives the server a record, and returns the result; nil for a change of keys, which the layer does by
        /// itself.
        private mutating func take(_ record: [UInt8]) -> Meaning? {
            var record = record
            do throws(RecordViolation) {
                let opened = try unsafe record.withUnsafeMutableBufferPointer {
                    bytes throws(RecordViolation) in
                    try unsafe server.open(bytes, ciphers)
                }
                guard let opened else { return nil }
                switch opened.arrival {
                case .content(let place): return .content(Array(record[place]))
                case .nothing: return .nothing
                case .end: return .end
                }
            } catch {
                return .violation
            }
        }

        /// Sends content as the server. The peer reads it, after a change of keys if it has asked for one.
        mutating func say(_ content: [UInt8]) throws(Contradiction) {
            let count = try unsafe content.withUnsafeBufferPointer { content throws(Contradiction) in
                try Self.withoutFailure { () throws(RecordViolation) in
                    try unsafe server.seal(content, into: ciphers.room, ciphers)
                }
            }
            var said = unsafe Array(ciphers.room[..<count])
            if owes {
                let announcement = try open(&said)
                try hold(announcement == [24, 0, 0, 1, 0, 22], "a new key is not announced")
                try Self.withoutFailure { () throws(RecordViolation) in
                    try receiving.advance(ciphers.derivation)
                }
                owes = false
            }
            let read = try open(&said)
            try hold(read == content + [23] && said.isEmpty, "what is said is not what is read")
        }

        /// Runs a closure in which no call of OpenSSL may fail, whatever the bytes are.
        private static func withoutFailure<Result>(
            _ body: () throws(RecordViolation) -> Result
        ) throws(Contradiction) -> Result {
            do throws(RecordViolation) {
                return try body()
            } catch {
                throw Contradiction(error.sentence)
            }
        }

        private mutating func open(_ bytes: inout [UInt8]) throws(Contradiction) -> [UInt8]? {
            guard bytes.count >= 5, bytes.count - 5 >= Int(bytes[3]) << 8 + Int(bytes[4]) else { return nil }
            var record = Array(bytes[..<(5 + Int(bytes[3]) << 8 + Int(bytes[4]))])
            bytes.removeFirst(record.count)
            let isGenuine = try unsafe record.withUnsafeMutableBufferPointer { bytes throws(Contradiction) in
                try Self.withoutFailure { () throws(RecordViolation) in
                    try unsafe ciphers.open(bytes, &receiving, suite)
                }
            }
            return isGenuine ? Array(record[5..<(record.count - RecordSuite.tagBytes)]) : nil
        }
    }
}
