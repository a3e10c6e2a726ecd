import Dispatch
import FoundationEssentials
import Glibc
import PostriderNotifications
import PostriderTransport

/// Changes a push before its alert is shown, in the manner of `UNNotificationServiceExtension`: a subclass is a program
/// of its own, which the app's manifest names under `service-extension`. The agent starts it, as the app's user, for
/// each push with `"mutable-content": 1`, and shows what it makes of it.
///
///     @main final class Decryption: NotificationServiceExtension {
///         override func didReceive(
///             _ request: NotificationRequest,
///             withContentHandler contentHandler: @escaping (NotificationContent) -> Void
///         ) {
///             var content = request.content
///             content.body = decrypt(content.userInfo["secret"]?.string ?? "")
///             contentHandler(content)
///         }
///     }
open class NotificationServiceExtension {
    /// One for each push.
    public required init() {}

    /// A push has come. The content that `contentHandler` is given is shown; then the program ends.
    open func didReceive(
        _ request: NotificationRequest,
        withContentHandler contentHandler: @escaping (NotificationContent) -> Void
    ) { contentHandler(request.content) }

    /// A fifth of the time is left: after that the push is shown as it came. It is called where
    /// ``didReceive(_:withContentHandler:)`` was, once that has returned.
    open func serviceExtensionTimeWillExpire() {}

    /// Reads the push, has it changed, writes what has come of it, and ends the process.
    public static func main() {
        // Before the first thread: threads inherit the mask.
        Signals.block([SIGTERM])
        do {
            let payload = try Data(StandardStream.readInput())
            let userInfo = try UserInfo(json: payload)
            _ = try Thread.spawn(name: "postrider-kit") { work(on: userInfo) }
        } catch {
            end("A service extension reads a push's payload as its standard input: \(error).")
        }
        dispatchMain()
    }

    private static func work(on userInfo: UserInfo) {
        do throws(TransportError) {
            let loop = try EventLoop()
            let service = Self()
            try loop.onSignal([SIGTERM]) { _ in service.serviceExtensionTimeWillExpire() }
            service.receive(userInfo) { output in
                do { try StandardStream.output.write(Array(output)) } catch { end("\(error)") }
                exit(0)
            }
            withExtendedLifetime(service) { loop.run() }
        } catch {
            end(error.description)
        }
    }

    /// Has a payload changed.
    ///
    /// - Parameter write: given the changed payload as JSON.
    func receive(_ userInfo: UserInfo, _ write: @escaping (Data) -> Void) {
        // The program is told the payload only.
        let request = NotificationRequest(
            identifier: "", content: NotificationContent(payload: userInfo),
            trigger: PushNotificationTrigger())
        didReceive(request) { content in
            // A number that JSON does not have is all that can be wrong.
            write((try? JSONEncoder().encode(content.payload)) ?? Data())
        }
    }

    private static func end(_ sentence: String) -> Never {
        try? StandardStream.errors.write("\(sentence)\n")
        exit(1)
    }
}
