internal import CPostriderCurl
import PostriderCallbacks
import PostriderNotifications

/// HTTP POST requests that are under way, on one thread: the owner of a `CURLM` and of the `CURL` of each request.
///
/// No redirect is followed, no proxy and no protocol but HTTP is used, and what a receiver answers is not kept.
@safe final class CurlTransfers: @unchecked Sendable {
    /// A request that has ended.
    struct Ended {
        /// The number of the attempt.
        let number: UInt64
        let outcome: CallbackQueue.Outcome
        /// Why there was no answer, in libcurl's words.
        let reason: String
    }

    /// One request, and what libcurl refers to until it has ended.
    @safe private struct Transfer {
        let handle: UnsafeMutableRawPointer
        let fields: UnsafeMutablePointer<curl_slist>?
        let number: UInt64
    }

    /// Used by the thread of the requests, and by any other for ``wake()`` alone, which libcurl permits.
    private let pointer: UnsafeMutableRawPointer
    /// By the addresses of their handles.
    private var transfers: [Int: Transfer] = [:]

    /// Called once in the process, before its second thread uses libcurl.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Nil if libcurl cannot be used.
    init?() {
        guard Self.isReady, let pointer = unsafe curl_multi_init() else { return nil }
        unsafe self.pointer = pointer
        _ = unsafe CCurl_set_bound(
            pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, Limits.callbacksUnderWay.all)
    }

    deinit {
        for transfer in transfers.values { release(transfer) }
        _ = unsafe curl_multi_cleanup(pointer)
    }

    /// Begins a request. False: libcurl refuses it.
    func begin(
        _ number: UInt64, _ url: String, fields: [(name: String, value: String)], body: [UInt8]
    ) -> Bool {
        guard let handle = unsafe curl_easy_init() else { return false }
        var list: UnsafeMutablePointer<curl_slist>?
        // Without the last one, libcurl would wait for a 100 before a long body.
        for field in fields + [("Expect", "")] {
            let line = field.value.isEmpty ? "\(field.name):" : "\(field.name): \(field.value)"
            unsafe list = curl_slist_append(list, line)
        }
        let transfer = unsafe Transfer(handle: handle, fields: list, number: number)
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_POST, 1), (CURLOPT_POSTFIELDSIZE, body.count), (CURLOPT_FOLLOWLOCATION, 0),
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_CONNECTTIMEOUT_MS, Limits.callbackMilliseconds.connection),
            (CURLOPT_TIMEOUT_MS, Limits.callbackMilliseconds.whole),
        ]
        // An empty proxy is none, whatever the environment says.
        let texts = [
            (CURLOPT_URL, url), (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_PROXY, ""),
            (CURLOPT_USERAGENT, "postrider"),
        ]
        let isSet =
            unsafe numbers.allSatisfy { unsafe CCurl_set_number(handle, $0.0, $0.1) == CURLE_OK }
            && texts.allSatisfy { unsafe CCurl_set_text(handle, $0.0, $0.1) == CURLE_OK }
            && CCurl_set_fields(handle, list) == CURLE_OK
            && CCurl_set_writer(handle, { _, size, count, _ in size * count }) == CURLE_OK
            && body.withUnsafeBytes { bytes in
                unsafe CCurl_set_text(
                    handle, CURLOPT_COPYPOSTFIELDS,
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self)) == CURLE_OK
            }
        guard isSet, unsafe curl_multi_add_handle(pointer, handle) == CURLM_OK else {
            unsafe curl_easy_cleanup(handle)
            unsafe curl_slist_free_all(list)
            return false
        }
        transfers[Int(bitPattern: handle)] = transfer
        return true
    }

    /// Waits until something happens, ``wake()`` is called, or the time is over, and returns the requests that have
    /// ended.
    func wait(milliseconds: Int) -> [Ended] {
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(pointer, &running)
        let ended = takeEnded()
        guard ended.isEmpty else { return ended }
        _ = unsafe curl_multi_poll(pointer, nil, 0, Int32(clamping: milliseconds), nil)
        _ = unsafe curl_multi_perform(pointer, &running)
        return takeEnded()
    }

    /// Ends a ``wait(milliseconds:)`` of another thread, or the next one.
    func wake() { _ = unsafe curl_multi_wakeup(pointer) }

    private func takeEnded() -> [Ended] {
        var ended: [Ended] = []
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle,
                let transfer = transfers.removeValue(forKey: Int(bitPattern: handle))
            else { continue }
            let result = unsafe CCurl_result(message)
            var status = 0
            _ = unsafe CCurl_get_status(handle, &status)
            let reason = unsafe String(cString: curl_easy_strerror(result))
            ended.append(
                Ended(
                    number: transfer.number,
                    outcome: result == CURLE_OK ? .answered(status) : .failed, reason: reason))
            release(transfer)
        }
        return ended
    }

    private func release(_ transfer: Transfer) {
        _ = unsafe curl_multi_remove_handle(pointer, transfer.handle)
        unsafe curl_easy_cleanup(transfer.handle)
        unsafe curl_slist_free_all(transfer.fields)
    }
}
