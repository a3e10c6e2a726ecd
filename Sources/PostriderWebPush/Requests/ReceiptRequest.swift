internal import PostriderNotifications

/// A request of an application server for receipts (RFC 8030, section 6.3).
package enum ReceiptRequest {
    /// The seconds for which it waits if there is no receipt: those of `Prefer: wait` (RFC 7240, section 4.3), up to
    /// ``Notifications/Limits/receiptWaitSeconds``.
    package static func seconds(_ prefer: [String]) -> Int {
        for preference in prefer.joined(separator: ",").split(separator: ",") {
            let pair = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, pair[0].trimmed.lowercased() == "wait", let seconds = Int(pair[1].trimmed)
            else { continue }
            return min(max(seconds, 0), Limits.receiptWaitSeconds.most)
        }
        return Limits.receiptWaitSeconds.usual
    }
}
