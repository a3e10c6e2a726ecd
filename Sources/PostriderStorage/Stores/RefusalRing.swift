import CPostriderSQLite
import Glibc
import PostriderNotifications

/// The ring buffer of refused pushes of a trace: one file with a fixed number of places, which are reused in turn. So
/// its size is bounded, and refusals do not displace records of other pushes.
///
///     place   checksum u32, flags u8, lengths of reason and topic u8 each, 1 unused, number u64 (counted from 1; the
///             index of the place is the number modulo the count of places), moment i64, identity 2 u64,
///             connection i64, reason and topic as text, padding
final class RefusalRing {
    private let path: String
    private let descriptor: CInt
    private let places: Int
    /// The number of the next refusal.
    private var next: UInt64 = 1

    private static let placeBytes = 384
    private static let textOffset = 48

    /// Opens the ring, and creates it if it is missing. Places that were not written completely are skipped.
    init(path: String, places: Int) throws(StoreError) {
        precondition(places > 0)
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let code = errno
        guard descriptor >= 0 else {
            throw StoreError(traceCode: code, "The trace's file \(path) cannot be opened")
        }
        self.path = path
        self.descriptor = descriptor
        self.places = places
        next = (all().last?.number ?? 0) + 1
    }

    deinit { close(descriptor) }

    /// Writes refusals over the oldest ones.
    func append(_ refusals: [TraceRefusal]) throws(StoreError) {
        for refusal in refusals {
            let bytes = Self.bytes(of: refusal, next)
            let offset = Int(next % UInt64(places)) * Self.placeBytes
            let count = unsafe pwrite(descriptor, bytes, bytes.count, offset)
            let code = errno
            guard count == bytes.count else {
                throw StoreError(
                    traceCode: count < 0 ? code : ENOSPC, "The trace's file \(path) cannot be written")
            }
            next += 1
        }
    }

    /// Visits all refusals, oldest first.
    func visit(_ visit: (TraceRefusal) -> Void) {
        for (_, refusal) in all() { visit(refusal) }
    }

    private func all() -> [(number: UInt64, refusal: TraceRefusal)] {
        var found: [(number: UInt64, refusal: TraceRefusal)] = []
        var bytes = [UInt8](repeating: 0, count: places * Self.placeBytes)
        let count = unsafe pread(descriptor, &bytes, bytes.count, 0)
        let span = unsafe bytes.span.bytes
        for offset in stride(from: 0, to: count - Self.placeBytes + 1, by: Self.placeBytes) {
            if let one = Self.refusal(in: span.extracting(offset..<offset + Self.placeBytes)) {
                found.append(one)
            }
        }
        return found.sorted { $0.number < $1.number }
    }

    private static func bytes(of refusal: TraceRefusal, _ number: UInt64) -> [UInt8] {
        let reason = Array(refusal.reason.rawValue.utf8)
        let topic = Array((refusal.topic?.text ?? "").utf8)
        let room = placeBytes - textOffset
        precondition(reason.count + topic.count <= room, "the longest of both fit")
        var flags: UInt8 = refusal.identity == nil ? 0 : 1
        if refusal.environment == .development { flags |= 2 }
        var bytes: [UInt8] = []
        bytes.append(number: UInt32(0))
        bytes += [flags, UInt8(reason.count), UInt8(topic.count), 0]
        bytes.append(number: number)
        bytes.append(number: refusal.moment.milliseconds)
        bytes.append(number: refusal.identity?.high ?? 0)
        bytes.append(number: refusal.identity?.low ?? 0)
        bytes.append(number: refusal.connection)
        bytes += reason + topic
        bytes += repeatElement(0, count: placeBytes - bytes.count)
        let sum = unsafe TraceBytes.checksum(bytes.span.bytes.extracting(4..<placeBytes))
        for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: sum >> UInt32(index * 8)) }
        return bytes
    }

    /// Reads the refusal of a place; nil if none was written there, or not completely.
    private static func refusal(in place: RawSpan) -> (number: UInt64, refusal: TraceRefusal)? {
        let (flags, reasonBytes, topicBytes): (UInt8, UInt8, UInt8) = (
            place.number(at: 4), place.number(at: 5), place.number(at: 6)
        )
        let topicOffset = textOffset + Int(reasonBytes)
        let number: UInt64 = place.number(at: 8)
        guard number > 0, topicOffset + Int(topicBytes) <= placeBytes,
            place.number(at: 0) == TraceBytes.checksum(place.extracting(4..<placeBytes)),
            let reason = Rejection(rawValue: place.text(textOffset..<topicOffset))
        else { return nil }
        return (
            number,
            TraceRefusal(
                reason, at: Moment(milliseconds: place.number(at: 16)),
                of: flags & 1 == 0
                    ? nil : NotificationIdentity(high: place.number(at: 24), low: place.number(at: 32)),
                topic: Topic(place.text(topicOffset..<topicOffset + Int(topicBytes))),
                in: flags & 2 == 0 ? .production : .development, on: place.number(at: 40))
        )
    }
}
