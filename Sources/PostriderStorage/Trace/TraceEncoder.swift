import PostriderNotifications

/// Encodes records as bytes that are written in one piece. A block is assembled from words and appended at once.
struct TraceEncoder {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends a record, after the names that the segment does not have yet.
    mutating func add(_ record: TraceRecord, _ names: inout TraceNames) {
        switch record {
        case .event(let event): add(event)
        case .acceptance(let push): add(push, &names)
        case .report(let report): add(report)
        }
    }

    private mutating func add(_ event: TraceEvent) {
        append([
            Self.head(event.kind.rawValue), UInt64(bitPattern: event.moment.milliseconds),
            UInt64(bitPattern: event.row.value), UInt64(bitPattern: event.detail),
        ])
    }

    private mutating func add(_ report: TraceReport) {
        let start = bytes.count
        let text = report.text.utf8.prefix(Limits.reportTextBytes)
        append([
            Self.head(
                text.isEmpty ? TraceBytes.report : TraceBytes.textReport, report.kind.rawValue,
                UInt8(text.count)),
            UInt64(bitPattern: report.moment.milliseconds),
            report.identity.high, report.identity.low, report.device.high, UInt64(report.device.low),
            // For a merged push this field holds the row of the other push instead of the moment on the device.
            UInt64(
                bitPattern: report.kind == .merged
                    ? report.other.value : report.deviceMoment.milliseconds),
            UInt64(bitPattern: report.row.value),
        ])
        guard !text.isEmpty else { return }
        bytes.append(contentsOf: text)
        pad(from: start, to: TraceBytes.textReportBytes(text.count))
    }

    private mutating func add(_ push: TraceAcceptance, _ names: inout TraceNames) {
        let topic = number(of: push.topic.text, as: .topic, &names)
        var key: UInt32 = 0
        var flags: TraceBytes.Flags = push.collapses ? .collapses : []
        switch push.proof {
        case .key(let identifier): key = number(of: identifier, as: .key, &names)
        case .certificate: flags.insert(.certificate)
        case nil: break
        }
        let pushType = push.pushType.map { number(of: $0.rawValue, as: .pushType, &names) } ?? 0
        if push.uniqueIdentity != nil { flags.insert(.unique) }
        var expiresAt: Int64 = 0
        if case .at(let moment) = push.expiration {
            flags.insert(.expires)
            expiresAt = moment.milliseconds
        }
        let (high, low): (UInt64, UInt64)
        switch push.target {
        case .device(let device, let registration):
            (high, low) = (device.high, UInt64(device.low) | UInt64(registration.value) << 32)
        case .channel(let channel, let environment):
            (high, low) = (channel.high, channel.low)
            flags.formUnion(environment == .development ? [.channel, .development] : .channel)
        }
        let digest = push.payloadDigest?.words
        let kind = digest == nil ? TraceBytes.acceptance : TraceBytes.digestAcceptance
        let words: InlineArray<12, UInt64> = [
            Self.head(kind, push.priority.rawValue, flags.rawValue),
            UInt64(bitPattern: push.moment.milliseconds), UInt64(bitPattern: push.row.value),
            push.identity.high, push.identity.low,
            push.uniqueIdentity?.high ?? 0, push.uniqueIdentity?.low ?? 0, high, low,
            UInt64(bitPattern: expiresAt),
            UInt64(UInt32(clamping: push.payloadBytes)) | UInt64(topic) << 32,
            UInt64(key) | UInt64(pushType) << 32,
        ]
        guard let digest else { return append(words) }
        append(
            InlineArray<16, UInt64> { index in
                // A digest's bytes keep their order, as those of numbers do.
                index < 12 ? words[index] : digest[index - 12]
            })
    }

    private mutating func number(
        of text: String, as place: TraceNames.Place, _ names: inout TraceNames
    ) -> UInt32 {
        if let number = names.number(of: text, as: place) { return number }
        let number = names.add(text)
        let text = text.utf8.prefix(255)
        let start = bytes.count
        bytes.append(number: Self.head(TraceBytes.name, UInt8(text.count)))
        bytes.append(number: UInt64(number))
        bytes.append(contentsOf: text)
        pad(from: start, to: TraceBytes.nameBytes(text.count))
        return number
    }

    /// Sets the length and the checksum of the block that begins at `start`.
    private mutating func pad(from start: Int, to length: Int) {
        bytes.append(contentsOf: repeatElement(0, count: start + length - bytes.count))
        let sum = unsafe TraceBytes.checksum(bytes.span.bytes.extracting(start + 4..<bytes.count))
        for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: sum >> UInt32(index * 8)) }
    }

    /// The first word of a block. Its checksum is added later.
    private static func head(_ kind: UInt8, _ first: UInt8 = 0, _ second: UInt8 = 0) -> UInt64 {
        UInt64(kind) << 32 | UInt64(first) << 40 | UInt64(second) << 48
    }

    /// Appends a block that consists of these words.
    private mutating func append<let count: Int>(_ words: InlineArray<count, UInt64>) {
        var words = words
        var sum = TraceBytes.checksum(TraceBytes.checksumSeed, UInt32(truncatingIfNeeded: words[0] >> 32))
        for index in 1..<count {
            sum = TraceBytes.checksum(sum, UInt32(truncatingIfNeeded: words[index]))
            sum = TraceBytes.checksum(sum, UInt32(truncatingIfNeeded: words[index] >> 32))
        }
        words[0] |= UInt64(sum)
        for index in 0..<count { words[index] = words[index].littleEndian }
        unsafe withUnsafeBytes(of: words) { unsafe bytes.append(contentsOf: $0) }
    }
}
