@testable import PostriderCrypto
@testable import PostriderTLS

/// The other end of a record layer: it seals any content, valid or not, and opens the answers.
final class RecordPeer {
    let suite: RecordSuite
    let ciphers: AEADContexts
    var sending: TrafficKey
    var receiving: TrafficKey

    private init(_ suite: RecordSuite, _ ciphers: AEADContexts) throws {
        self.suite = suite
        self.ciphers = ciphers
        sending = try TrafficKey.filled(with: 1, suite, ciphers)
        receiving = try TrafficKey.filled(with: 2, suite, ciphers)
    }

    /// Makes both ends of a stream, always with the same keys.
    static func pair(
        _ suite: RecordSuite, contentLimit: Int = RecordLayer.mostContent,
        mostRecords: UInt64 = RecordSuite.mostRecords, ciphers: AEADContexts = AEADContexts()
    ) throws -> (peer: RecordPeer, server: ServerRecords) {
        let layer = RecordLayer(
            suite, receiving: try TrafficKey.filled(with: 1, suite, ciphers),
            sending: try TrafficKey.filled(with: 2, suite, ciphers), contentLimit: contentLimit,
            mostRecords: mostRecords)
        return (try RecordPeer(suite, ciphers), ServerRecords(layer))
    }

    /// Changes to the next key for sending, or for receiving.
    func advanceSending() throws { try sending.advance(ciphers.derivation) }
    func advanceReceiving() throws { try receiving.advance(ciphers.derivation) }

    /// Makes a record of `inside`, which ends with its content type and zeros.
    func record(_ inside: [UInt8]) throws -> [UInt8] {
        let length = inside.count + RecordSuite.tagBytes
        var record = [23, 3, 3, UInt8(length >> 8), UInt8(length & 0xFF)] + inside
        record += [UInt8](repeating: 0, count: RecordSuite.tagBytes)
        try unsafe record.withUnsafeMutableBufferPointer { try unsafe ciphers.seal($0, &sending, suite) }
        return record
    }

    /// Opens the record at the front of `bytes` and removes it. Returns nil if its seal is wrong.
    func open(_ bytes: inout [UInt8]) throws -> [UInt8]? {
        guard bytes.count >= 5, bytes.count >= 5 + Int(bytes[3]) << 8 + Int(bytes[4]) else { return nil }
        var record = Array(bytes[..<(5 + Int(bytes[3]) << 8 + Int(bytes[4]))])
        bytes.removeFirst(record.count)
        let isGenuine = try unsafe record.withUnsafeMutableBufferPointer {
            try unsafe ciphers.open($0, &receiving, suite)
        }
        return isGenuine ? Array(record[5..<(record.count - RecordSuite.tagBytes)]) : nil
    }
}

extension TrafficKey {
    /// Returns the key that follows from a secret of equal bytes.
    static func filled(
        with byte: UInt8, _ suite: RecordSuite, _ ciphers: AEADContexts
    ) throws -> TrafficKey {
        try TrafficKey.of([UInt8](repeating: byte, count: suite.secretBytes), suite, ciphers)
    }

    /// Returns the key that follows from a secret.
    static func of(
        _ secret: [UInt8], _ suite: RecordSuite, _ ciphers: AEADContexts
    ) throws -> TrafficKey {
        let memory = SecretBytes(count: secret.count)
        let bytes = unsafe memory[0..<secret.count]
        _ = unsafe bytes.update(fromContentsOf: secret)
        return try unsafe TrafficKey(bytes, suite, ciphers.derivation)
    }
}

/// A record layer under test.
final class ServerRecords {
    private var layer: RecordLayer

    init(_ layer: consuming RecordLayer) { self.layer = layer }

    /// Processes the record at the front of `bytes`. Returns its content, or another result.
    func take(
        _ bytes: [UInt8], _ ciphers: AEADContexts
    ) throws(RecordViolation) -> (RecordLayer.Arrival, [UInt8])? {
        var bytes = bytes
        let opened = try unsafe bytes.withUnsafeMutableBufferPointer { bytes throws(RecordViolation) in
            try unsafe layer.open(bytes, ciphers)
        }
        guard let opened else { return nil }
        guard case .content(let place) = opened.arrival else { return (opened.arrival, []) }
        return (opened.arrival, Array(bytes[place]))
    }

    /// Makes the records with this content.
    func say(_ content: [UInt8], _ ciphers: AEADContexts) throws -> [UInt8] {
        try unsafe content.withUnsafeBufferPointer { content in
            let count = try unsafe layer.seal(content, into: ciphers.room, ciphers)
            return unsafe Array(ciphers.room[..<count])
        }
    }
}
