internal import CPostriderJournal
internal import Glibc

/// Writes entries to systemd's journal with its own protocol (sd_journal_sendv(3)).
public enum Journal {
    /// The socket on which systemd-journald listens (systemd-journald.service(8)).
    public static let socket = "/run/systemd/journal/socket"

    /// Whether systemd-journald has made its socket. Without it, libsystemd discards entries silently.
    public static var isThere: Bool { unsafe access(socket, W_OK) == 0 }

    /// Writes one entry; it may wait for the journal.
    ///
    /// - Parameter fields: the fields, each as `NAME=value`. The names are in capitals (systemd.journal-fields(7)). A
    ///   value may have any bytes, also line breaks, and ends where its text ends.
    /// - Returns: whether the journal took the entry.
    public static func write(_ fields: [String]) -> Bool {
        let bytes = fields.map { Array($0.utf8) }
        var all = bytes.flatMap(\.self)
        return unsafe all.withUnsafeMutableBytes { all in
            guard let start = all.baseAddress else { return true }
            var vectors: [iovec] = unsafe []
            var offset = 0
            for field in bytes {
                unsafe vectors.append(iovec(iov_base: start + offset, iov_len: field.count))
                offset += field.count
            }
            return unsafe sd_journal_sendv(vectors, Int32(vectors.count)) == 0
        }
    }
}
