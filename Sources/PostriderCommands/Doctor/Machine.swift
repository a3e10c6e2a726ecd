import FoundationEssentials
import Glibc
package import PostriderClients
import PostriderNotifications
package import PostriderSystem
import PostriderTransport

/// The machine that is looked at. Tests replace single facts.
package struct Machine: Sendable {
    /// The folder in which the kernel tells its settings.
    package var kernel = "/proc/sys"
    /// The most files that the service may have open.
    package var descriptors = Descriptors.limit
    /// The unit of the service, which sets ``descriptors``; nil if they are those of this process.
    package var unit: String?
    /// The user who asks.
    package var user = UserAccount.own
    /// Seconds since 1970.
    package var now = Int(Date().timeIntervalSince1970)
    /// Whether something keeps the clock right; nil if unknown.
    package var isClockSynchronised = MachineFacts.isClockSynchronised
    /// The file system of a path; nil if there is none.
    package var fileSystem: @Sendable (_ path: String) -> MachineFacts.FileSystem? = MachineFacts.fileSystem
    /// The milliseconds of a synced write in a directory.
    package var syncMilliseconds: @Sendable (_ directory: String) throws -> Int = MachineFacts
        .syncMilliseconds
    /// How long to wait for another machine.
    package var patienceMilliseconds = 5000

    /// This machine, as it is.
    package init() {}

    /// A number among the kernel's settings, such as `net/core/somaxconn`; nil if the kernel has no such setting.
    package func number(_ name: String) -> Int? {
        FileManager.default.contents(atPath: "\(kernel)/\(name)")
            .flatMap { Int(String(decoding: $0, as: UTF8.self).trimmed) }
    }

    /// Why a host name has no address; nil if it has one.
    package func mistake(inName host: String) async -> String? {
        if (try? SocketAddress(host: host, port: 0)) != nil { return nil }
        do {
            return try await LoopThread.run("doctor") { loop in
                var answer: String?
                let query = try SystemResolver().lookUp(host, port: 443, on: loop) { [unowned loop] result in
                    if case .failure(let error) = result { answer = "\(error)" }
                    loop.stop()
                }
                return { withExtendedLifetime(query) { answer } }
            }
        } catch {
            return "\(error)"
        }
    }

    /// Why a server cannot be reached, or is none that this machine trusts; nil if it answers.
    package func mistake(ofServer server: Server) async -> String? {
        do {
            return try await LoopThread.run("doctor") { [patienceMilliseconds] loop in
                var answer: String?
                let client = RequestClient(to: server, on: loop)
                try client.send(client.makeHead("GET", "/"), timeoutMilliseconds: patienceMilliseconds) {
                    [unowned loop] result in
                    if case .failure(let error) = result { answer = "\(error)" }
                    loop.stop()
                }
                return { withExtendedLifetime(client) { answer } }
            }
        } catch {
            return "\(error)"
        }
    }

    /// Looks whether a host name has an address.
    package func look(atName name: String) async -> [Finding] {
        guard let mistake = await mistake(inName: name) else { return [] }
        return [
            .failure(name, mistake.withoutStop, "Correct the name, or /etc/resolv.conf and the network")
        ]
    }
}
