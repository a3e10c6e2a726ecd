import PostriderNotifications

/// Decodes the blocks of a segment to records.
struct TraceDecoder {
    /// A decoded block.
    enum Block {
        case record(TraceRecord, bytes: Int)
        case name(bytes: Int)
        /// There is no complete block here.
        case none
    }

    /// The names decoded so far.
    private(set) var names: TraceNames

    init(_ names: TraceNames = TraceNames()) { self.names = names }

    /// Decodes the block at the beginning of `bytes`.
    mutating func next(_ bytes: RawSpan) -> Block {
        guard let length = Self.length(bytes), length <= bytes.byteCount else { return .none }
        let block = bytes.extracting(0..<length)
        guard block.number(at: 0) == TraceBytes.checksum(block.extracting(4..<length)) else { return .none }
        let kind: UInt8 = block.number(at: 4)
        switch kind {
        case TraceBytes.name:
            let count: UInt8 = block.number(at: 5)
            _ = names.add(block.text(16..<16 + Int(count)))
            return .name(bytes: length)
        case TraceBytes.acceptance, TraceBytes.digestAcceptance:
            guard let push = acceptance(block) else { return .none }
            return .record(.acceptance(push), bytes: length)
        case TraceBytes.report, TraceBytes.textReport:
            let textBytes: UInt8 = kind == TraceBytes.textReport ? block.number(at: 6) : 0
            guard let kind = TraceEvent.Kind(rawValue: block.number(at: 5)) else { return .none }
            let moment = Moment(milliseconds: block.number(at: 8))
            let detail: Int64 = block.number(at: 48)
            let report = TraceReport(
                kind, at: moment, onDevice: kind == .merged ? moment : Moment(milliseconds: detail),
                of: NotificationIdentity(high: block.number(at: 16), low: block.number(at: 24)),
                // The row is 0 in files of earlier versions.
                row: QueueRow(block.number(at: 56)), other: QueueRow(kind == .merged ? detail : 0),
                by: DeviceIdentity(high: block.number(at: 32), low: block.number(at: 40)),
                text: block.text(TraceBytes.reportBytes..<TraceBytes.reportBytes + Int(textBytes)))
            return .record(.report(report), bytes: length)
        default:
            guard let kind = TraceEvent.Kind(rawValue: kind) else { return .none }
            let event = TraceEvent(
                kind, at: Moment(milliseconds: block.number(at: 8)), row: QueueRow(block.number(at: 16)),
                detail: block.number(at: 24))
            return .record(.event(event), bytes: length)
        }
    }

    private static func length(_ bytes: RawSpan) -> Int? {
        guard bytes.byteCount >= TraceBytes.unit else { return nil }
        let kind: UInt8 = bytes.number(at: 4)
        switch kind {
        case 0: return nil
        case TraceBytes.acceptance: return TraceBytes.acceptanceBytes
        case TraceBytes.digestAcceptance: return TraceBytes.digestAcceptanceBytes
        case TraceBytes.report: return TraceBytes.reportBytes
        case TraceBytes.textReport:
            let count: UInt8 = bytes.number(at: 6)
            return TraceBytes.textReportBytes(Int(count))
        case TraceBytes.name:
            let count: UInt8 = bytes.number(at: 5)
            return TraceBytes.nameBytes(Int(count))
        default: return TraceBytes.unit
        }
    }

    private func target(_ block: RawSpan, _ flags: TraceBytes.Flags) -> TraceTarget {
        guard flags.contains(.channel) else {
            return .device(
                DeviceIdentity(high: block.number(at: 56), low: block.number(at: 64)),
                RegistrationNumber(block.number(at: 68) as UInt32))
        }
        return .channel(
            ChannelIdentity(high: block.number(at: 56), low: block.number(at: 64)),
            flags.contains(.development) ? .development : .production)
    }

    private func acceptance(_ block: RawSpan) -> TraceAcceptance? {
        let flags = TraceBytes.Flags(rawValue: block.number(at: 6))
        guard let topic = names.text(block.number(at: 84)).flatMap(Topic.init),
            let priority = Priority(rawValue: block.number(at: 5))
        else { return nil }
        let proof: ProviderProof? =
            flags.contains(.certificate)
            ? .certificate : names.text(block.number(at: 88)).map { .key($0) }
        let digest: PayloadDigest? =
            block.byteCount < TraceBytes.digestAcceptanceBytes
            ? nil
            : PayloadDigest(
                words: SIMD4(
                    block.number(at: 96), block.number(at: 104), block.number(at: 112), block.number(at: 120))
            )
        return TraceAcceptance(
            row: QueueRow(block.number(at: 16)), moment: Moment(milliseconds: block.number(at: 8)),
            identity: NotificationIdentity(high: block.number(at: 24), low: block.number(at: 32)),
            uniqueIdentity: flags.contains(.unique)
                ? NotificationIdentity(high: block.number(at: 40), low: block.number(at: 48)) : nil,
            target: target(block, flags), topic: topic,
            pushType: names.text(block.number(at: 92)).flatMap(PushType.init(rawValue:)), priority: priority,
            expiration: flags.contains(.expires)
                ? .at(Moment(milliseconds: block.number(at: 72))) : .nowOrNever,
            collapses: flags.contains(.collapses),
            payloadBytes: Int(block.number(at: 80) as UInt32), payloadDigest: digest, proof: proof)
    }
}
