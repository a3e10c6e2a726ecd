import Dispatch
import FoundationEssentials
import Glibc
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// Changes a push before its alert is shown, like `UNNotificationServiceExtension`. A subclass is a separate program,
/// which the app's manifest names under `service-extension`. For each push with `"mutable-content": 1`, the agent
/// starts it as the app's user and shows the content that it returns.
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
    /// Creates the extension. The process of each push creates one.
    public required init() {}

    /// Handles a push. The content that is given to `contentHandler` is shown, and then the program ends.
    open func didReceive(
        _ request: NotificationRequest,
        withContentHandler contentHandler: @escaping (NotificationContent) -> Void
    ) { contentHandler(request.content) }

    /// A fifth of the time is left; after it, the push is shown unchanged. This is called on the thread of
    /// ``didReceive(_:withContentHandler:)``, after that has returned.
    open func serviceExtensionTimeWillExpire() {}

    /// Reads the push, calls the extension, writes the changed payload, and ends the process.
    public static func main() {
        // Threads inherit the signal mask, so signals are blocked before the first thread starts.
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

    /// Lets the extension change a payload.
    ///
    /// - Parameter write: called with the changed payload as JSON.
    func receive(_ userInfo: UserInfo, _ write: @escaping (Data) -> Void) {
        // The program gets only the payload.
        let request = NotificationRequest(
            identifier: "", content: NotificationContent(payload: userInfo),
            trigger: PushNotificationTrigger())
        didReceive(request) { content in
            // Encoding fails only for a number that JSON cannot represent.
            write((try? JSONEncoder().encode(content.payload)) ?? Data())
        }
    }

    private static func end(_ sentence: String) -> Never {
        try? StandardStream.errors.write("\(sentence)\n")
        exit(1)
    }
}
