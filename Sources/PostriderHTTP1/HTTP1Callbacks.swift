internal import CPostriderMicrohttpd
import PostriderNotifications
internal import Synchronization

// The functions that the library calls for each request.

/// A request from its head to its end.
private final class Exchange {
    let context: HTTP1Server.Context
    var body: [UInt8] = []

    init(_ context: HTTP1Server.Context) { self.context = context }
}

extension HTTP1Server.Context {
    fileprivate static func known(_ pointer: UnsafeMutableRawPointer) -> HTTP1Server.Context {
        unsafe Unmanaged<HTTP1Server.Context>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// The library calls this for each request: first for its head, then for each part of its body, and then for the
/// response.
let answer: MHD_AccessHandlerCallback = {
    pointer, connection, path, method, _, upload, uploadSize, state in
    guard let pointer = unsafe pointer, let connection = unsafe connection, let path = unsafe path,
        let method = unsafe method, let state = unsafe state, let uploadSize = unsafe uploadSize
    else { return .NO }
    let name = unsafe String(cString: method)
    guard let known = unsafe state.pointee else {
        let context = unsafe HTTP1Server.Context.known(pointer)
        if let refusal = unsafe refusal(of: name, connection, context.bodyBytes) {
            return unsafe queue(refusal, on: connection)
        }
        unsafe state.pointee = unsafe Unmanaged.passRetained(Exchange(context)).toOpaque()
        return .YES
    }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    let count = unsafe uploadSize.pointee
    if count > 0 {
        // A client that sends a body where none has a meaning (RFC 9110, section 9.3.1), or more than it announced, is
        // cut off.
        guard exchange.body.count + count <= exchange.context.bodyBytes, let upload = unsafe upload else {
            return .NO
        }
        unsafe exchange.body += UnsafeRawBufferPointer(start: upload, count: count)
        unsafe uploadSize.pointee = 0
        return .YES
    }
    let request = unsafe HTTP1Request(
        method: name, path: String(cString: path), query: query(of: connection),
        fields: values(of: connection, .HEADER_KIND).map { ($0.name, $0.value ?? "") }, body: exchange.body)
    return unsafe queue(exchange.context.respond(request), on: connection)
}

/// The library calls this when a request has ended, in whatever way.
let completed: MHD_RequestCompletedCallback = { pointer, _, state, end in
    if let state = unsafe state, let exchange = unsafe state.pointee {
        unsafe Unmanaged<Exchange>.fromOpaque(exchange).release()
        unsafe state.pointee = nil
    }
    guard let pointer = unsafe pointer, end != .REQUEST_TERMINATED_COMPLETED_OK,
        end != .REQUEST_TERMINATED_DAEMON_SHUTDOWN
    else { return }
    unsafe HTTP1Server.Context.known(pointer).abandoned.add(1, ordering: .relaxed)
}

/// What is wrong with a request according to its head; nil if nothing is.
private func refusal(of method: String, _ connection: OpaquePointer, _ bodyBytes: Int) -> HTTP1Response? {
    guard bodyBytes > 0 else {
        guard !["GET", "HEAD"].contains(method) else { return nil }
        return HTTP1Response(
            status: 405, body: "Only GET and HEAD are answered here.\n", fields: [("Allow", "GET, HEAD")])
    }
    let length = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, "Content-Length")
        .flatMap { unsafe Int(String(cString: $0)) }
    guard let length, length > bodyBytes else { return nil }
    return HTTP1Response(
        status: 413, body: "The body has \(length) bytes, and \(bodyBytes) are the most: send less.\n")
}

/// Pairs of names and values that the library has found in a request.
private final class Values {
    var pairs: [(name: String, value: String?)] = []
}

private func values(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String?)] {
    let values = Values()
    let collect: MHD_KeyValueIterator = { pointer, _, name, value in
        guard let pointer = unsafe pointer, let name = unsafe name else { return .YES }
        let values = unsafe Unmanaged<Values>.fromOpaque(pointer).takeUnretainedValue()
        unsafe values.pairs.append((String(cString: name), value.map { unsafe String(cString: $0) }))
        return .YES
    }
    _ = unsafe MHD_get_connection_values(
        connection, kind, collect, Unmanaged.passUnretained(values).toOpaque())
    return values.pairs
}

/// The query of a request. The library has removed the escapes, so they are added again.
private func query(of connection: OpaquePointer) -> String {
    unsafe values(of: connection, .GET_ARGUMENT_KIND)
        .map { name, value in
            value.map { "\(name.percentEncoded)=\($0.percentEncoded)" } ?? name.percentEncoded
        }
        .joined(separator: "&")
}

// MARK: Responses

private func queue(_ response: HTTP1Response, on connection: OpaquePointer) -> MHD_Result {
    guard let made = unsafe made(response) else { return .NO }
    defer { unsafe MHD_destroy_response(made) }
    for (name, value) in [("Content-Type", response.contentType)] + response.fields {
        unsafe MHD_add_response_header(made, name, value)
    }
    return unsafe MHD_queue_response(connection, UInt32(response.status), made)
}

private func made(_ response: HTTP1Response) -> OpaquePointer? {
    if let stream = response.stream { return unsafe made(StreamReader(stream, after: response.body)) }
    var body = Array(response.body.utf8)
    return unsafe body.withUnsafeMutableBytes {
        unsafe MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
}

/// What the library has not taken yet of a stream.
private final class StreamReader {
    private let stream: any HTTP1Stream
    private var rest: ArraySlice<UInt8>

    init(_ stream: any HTTP1Stream, after start: String) {
        self.stream = stream
        rest = Array(start.utf8)[...]
    }

    /// Copies the next bytes, as many as there is room for; returns nil at the end.
    func read(into room: UnsafeMutableRawBufferPointer) -> Int? {
        if rest.isEmpty {
            guard let more = stream.next(), !more.isEmpty else { return nil }
            rest = more[...]
        }
        let part = rest.prefix(room.count)
        unsafe room.copyBytes(from: part)
        rest = rest.dropFirst(part.count)
        return part.count
    }
}

private func made(_ reader: StreamReader) -> OpaquePointer? {
    let read: MHD_ContentReaderCallback = { pointer, _, room, most in
        let end = -1
        guard let pointer = unsafe pointer, let room = unsafe room else { return end }
        let reader = unsafe Unmanaged<StreamReader>.fromOpaque(pointer).takeUnretainedValue()
        return unsafe reader.read(into: UnsafeMutableRawBufferPointer(start: room, count: most)) ?? end
    }
    let free: MHD_ContentReaderFreeCallback = { pointer in
        if let pointer = unsafe pointer { unsafe Unmanaged<StreamReader>.fromOpaque(pointer).release() }
    }
    let pointer = unsafe Unmanaged.passRetained(reader).toOpaque()
    guard
        let made = unsafe MHD_create_response_from_callback(UInt64.max, 16_384, read, pointer, free)
    else {
        unsafe Unmanaged<StreamReader>.fromOpaque(pointer).release()
        return nil
    }
    return unsafe made
}
