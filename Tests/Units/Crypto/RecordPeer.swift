@testable import PostriderCrypto

/// The far end of a record layer: it seals whatever it is told to, good or bad, and opens what comes back.
struct RecordPeer {
    let suite: RecordSuite
    let ciphers: AEADContexts
    var sending: TrafficKey
    var receiving: TrafficKey

    /// Both ends of a stream.
    static func pair(
        _ suite: RecordSuite, contentLimit: Int = RecordLayer.mostContent,
        mostRecords: UInt64 = RecordSuite.mostRecords
    ) -> (peer: RecordPeer, server: RecordLayer) {
        let ciphers = AEADContexts()
        let ofClient = TrafficKey(TrafficKey.Secret(repeating: 1), suite, ciphers.schedule.hkdf)
        let ofServer = TrafficKey(TrafficKey.Secret(repeating: 2), suite, ciphers.schedule.hkdf)
        return (
            RecordPeer(suite: suite, ciphers: ciphers, sending: ofClient, receiving: ofServer),
            RecordLayer(
                suite, receiving: ofClient, sending: ofServer, contentLimit: contentLimit,
                mostRecords: mostRecords)
        )
    }

    /// A record of `inside`, which ends with its kind, and zeros.
    mutating func record(_ inside: [UInt8]) -> [UInt8] {
        let length = inside.count + RecordSuite.tagBytes
        var record = [23, 3, 3, UInt8(length >> 8), UInt8(length & 0xFF)] + inside
        record += [UInt8](repeating: 0, count: RecordSuite.tagBytes)
        unsafe record.withUnsafeMutableBufferPointer { unsafe ciphers.seal($0, &sending, suite) }
        return record
    }

    /// What is inside of the record at the front of `bytes`, which loses it; nil: it is not sealed as it should be.
    mutating func open(_ bytes: inout [UInt8]) -> [UInt8]? {
        guard bytes.count >= 5, bytes.count >= 5 + Int(bytes[3]) << 8 + Int(bytes[4]) else { return nil }
        var record = Array(bytes[..<(5 + Int(bytes[3]) << 8 + Int(bytes[4]))])
        bytes.removeFirst(record.count)
        let isGenuine = unsafe record.withUnsafeMutableBufferPointer {
            unsafe ciphers.open($0, &receiving, suite)
        }
        return isGenuine ? Array(record[5..<(record.count - RecordSuite.tagBytes)]) : nil
    }
}

extension RecordLayer {
    /// What comes of the record at the front of `bytes`: its content, or what it was.
    mutating func take(_ bytes: [UInt8], _ ciphers: AEADContexts) throws(RecordViolation) -> (
        Arrival, [UInt8]
    )? {
        var bytes = bytes
        let opened = try unsafe bytes.withUnsafeMutableBufferPointer { bytes throws(RecordViolation) in
            try unsafe open(bytes, ciphers)
        }
        guard let opened else { return nil }
        guard case .content(let place) = opened.arrival else { return (opened.arrival, []) }
        return (opened.arrival, Array(bytes[place]))
    }

    /// The records that say this.
    mutating func say(_ content: [UInt8], _ ciphers: AEADContexts) -> [UInt8] {
        unsafe content.withUnsafeBufferPointer { content in
            let count = unsafe seal(content, into: ciphers.room, ciphers)
            return unsafe Array(ciphers.room[..<count])
        }
    }
}
