import Foundation
import PostriderCrypto
import PostriderTLS
import PostriderTransport
import ProgramFixtures

/// Debian's `openssl s_client`, a client with foreign code, connected to one of our streams over a Unix socket.
///
/// The socket blocks: a handshake or a read returns when the other side has done its part.
final class ForeignClient {
    let server: TLSStream
    let ciphers = AEADContexts()
    private let program: ChildProgram
    private let descriptor: Int32

    init(_ context: TLSContext, in certificates: TestCertificates, _ options: [String]) throws {
        let path = certificates.path("socket")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(listener, $0, size) }
        }
        precondition(status == 0 && listen(listener, 1) == 0, "the test can listen at \(path)")
        program = try ChildProgram(
            "/usr/bin/openssl",
            ["s_client", "-unix", path, "-CAfile", certificates.path("authority.pem")] + options,
            input: .pipe, errors: .output)
        descriptor = accept(listener, nil, nil)
        _ = unsafe unlink(path)
        server = try TLSStream(accepting: descriptor, context: context)
    }

    /// Writes to the client.
    func write(_ bytes: [UInt8]) throws(CryptoError) -> TLSStream.Transfer {
        try server.write(bytes.span, using: ciphers)
    }

    /// Reads what the client has sent, or waits for it.
    func read() throws(CryptoError) -> (TLSStream.Transfer, [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var span = buffer.mutableSpan
        let transfer = try server.read(into: &span, using: ciphers)
        guard case .bytes(let count) = transfer else { return (transfer, []) }
        return (transfer, Array(buffer[..<count]))
    }

    /// Waits until the client has sent something. A line that is typed earlier may be lost after a command.
    func awaitInput() {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        unsafe poll(&wait, 1, -1)
    }

    /// Types a line at the client.
    func type(_ line: String) { program.write(line + "\n") }

    /// Ends the connection, and returns everything that the client printed.
    func end() -> String {
        server.shutdown(using: ciphers)
        close(descriptor)
        let text = program.readToEnd()
        program.waitUntilExit()
        return text
    }
}
