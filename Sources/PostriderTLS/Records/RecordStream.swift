internal import Glibc
internal import PostriderCrypto
internal import PostriderTransport

/// A ``RecordLayer`` on one socket. Between two calls it keeps only the beginning of an incomplete record, and the
/// rest of a record that the socket did not take.
final class RecordStream {
    private let descriptor: Int32
    private var layer: RecordLayer
    /// The beginning of an incomplete record.
    private var received: [UInt8] = []
    /// Bytes that must be sent before anything else, from `unsentStart` on, and the amount of content in them.
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    private var unsentContent = 0
    /// An error after content that was already returned. The next read throws it.
    private var violation: RecordViolation?
    /// Whether the peer's close_notify or the end of the connection was read.
    private var hasEnded = false
    private var isBroken = false
    /// Whether the last read's buffer was too small for all available input.
    private var hasMore = false

    init(_ layer: consuming RecordLayer, descriptor: Int32) {
        self.layer = layer
        self.descriptor = descriptor
    }

    /// Whether a read would return something even though the socket may have nothing to read.
    var hasBufferedInput: Bool { hasMore || violation != nil || hasEnded }

    /// See ``TLSStream/read(into:using:)``.
    func read(
        into buffer: UnsafeMutableBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) throws(CryptoError) -> TLSStream.Transfer {
        hasMore = false
        var filled = received.count
        if filled > 0 {
            _ = unsafe buffer.update(fromContentsOf: received)
            received = []
        }
        while true {
            if let violation { throw fail(violation, ciphers, "TLS cannot read") }
            guard !hasEnded, !isBroken else { return .endOfStream }
            let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[filled...])
            let count = unsafe recv(descriptor, rest.baseAddress, rest.count, 0)
            switch count {
            case 1...: filled += count
            case 0:
                hasEnded = true
                return .endOfStream
            default:
                let code = errno
                if code == EINTR { continue }
                guard code == EAGAIN else { throw breakOff("TLS cannot read", code) }
                unsafe received = Array(buffer[..<filled])
                return .wantsRead
            }
            let whole = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<filled])
            let (opened, content) = unsafe open(whole, ciphers)
            if content > 0 {
                hasMore = filled == buffer.count
                unsafe received = Array(buffer[opened..<filled])
                return .bytes(content)
            }
            unsafe Self.move(buffer, opened..<filled, to: 0)
            filled -= opened
        }
    }

    /// Opens all complete records, and moves their content to the front. An error is kept for the next read.
    private func open(
        _ bytes: UnsafeMutableBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) -> (opened: Int, content: Int) {
        var opened = 0
        var content = 0
        do {
            while !hasEnded,
                let record = try unsafe layer.open(
                    UnsafeMutableBufferPointer(rebasing: bytes[opened...]), ciphers)
            {
                switch record.arrival {
                case .content(let place):
                    unsafe Self.move(
                        bytes, place.lowerBound + opened..<place.upperBound + opened, to: content)
                    content += place.count
                case .nothing: break
                case .end: hasEnded = true
                }
                opened += record.bytes
            }
        } catch {
            violation = error
        }
        return (opened, content)
    }

    private static func move(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ from: Range<Int>, to start: Int) {
        guard from.lowerBound != start, let base = bytes.baseAddress else { return }
        unsafe memmove(base + start, base + from.lowerBound, from.count)
    }

    /// See ``TLSStream/write(_:using:)``.
    func write(
        _ bytes: UnsafeBufferPointer<UInt8>, _ ciphers: AEADContexts
    ) throws(CryptoError) -> TLSStream.Transfer {
        guard !isBroken else { return .endOfStream }
        guard unsent.isEmpty else { return try resume() }
        let content = unsafe UnsafeBufferPointer(rebasing: bytes.prefix(layer.contentLimit))
        let sealed: Int
        do throws(RecordViolation) {
            sealed = try unsafe layer.seal(content, into: ciphers.room, ciphers)
        } catch {
            throw fail(error, ciphers, "TLS cannot write")
        }
        let record = unsafe UnsafeBufferPointer(rebasing: ciphers.room[..<sealed])
        switch unsafe Self.send(record, to: descriptor) {
        case .success(sealed): return .bytes(content.count)
        case .success(let count):
            unsafe unsent = Array(record[count...])
            unsentStart = 0
            unsentContent = content.count
            return .wantsWrite
        case .failure(let error): throw breakOff("TLS cannot write", error.number)
        }
    }

    private func resume() throws(CryptoError) -> TLSStream.Transfer {
        let sent = unsafe unsent.withUnsafeBufferPointer {
            unsafe Self.send(UnsafeBufferPointer(rebasing: $0[unsentStart...]), to: descriptor)
        }
        switch sent {
        case .success(let count):
            unsentStart += count
            guard unsentStart == unsent.count else { return .wantsWrite }
            unsent = []
            return .bytes(unsentContent)
        case .failure(let error): throw breakOff("TLS cannot write", error.number)
        }
    }

    /// Sends close_notify, unless a record was sent only in part. What the socket does not take is dropped.
    func shutdown(_ ciphers: AEADContexts) {
        guard !isBroken else { return }
        say(.closeNotify, ciphers)
    }

    private struct SendError: Error { let number: CInt }

    /// Sends bytes, and returns how many the socket took.
    private static func send(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: Int32) -> Result<
        Int, SendError
    > {
        while true {
            let count = unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            if count >= 0 { return .success(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .success(0)
            default: return .failure(SendError(number: errno))
            }
        }
    }

    private func say(_ alert: RecordViolation.Alert, _ ciphers: AEADContexts) {
        guard unsent.isEmpty else { return }
        guard let sealed = try? unsafe layer.seal(alert, into: ciphers.room, ciphers) else { return }
        _ = unsafe Self.send(UnsafeBufferPointer(rebasing: ciphers.room[..<sealed]), to: descriptor)
    }

    /// Ends the stream: sends the alert, if it can be sealed and the socket takes it.
    private func fail(
        _ violation: RecordViolation, _ ciphers: AEADContexts, _ what: String
    ) -> CryptoError {
        if let alert = violation.alert { say(alert, ciphers) }
        self.violation = nil
        isBroken = true
        return CryptoError(
            violation.isOurs ? .local : .peer, "\(what): \(violation.sentence)", name: violation.name)
    }

    private func breakOff(_ what: String, _ code: CInt) -> CryptoError {
        isBroken = true
        return .system(.connection, what, code)
    }
}
