import Foundation
import PostriderKit

/// Changes a push before its alert is shown, if the app's manifest names this program as its service extension. The
/// provider sends the text under `secret`, in Base64; a real app would decrypt it.
final class ExampleService: NotificationServiceExtension {
    /// The first argument with which this program is its own service extension.
    static let argument = "--service-extension"

    override func didReceive(
        _ request: NotificationRequest,
        withContentHandler contentHandler: @escaping (NotificationContent) -> Void
    ) {
        var content = request.content
        if let secret = content.userInfo["secret"]?.string, let text = Data(base64Encoded: secret) {
            content.body = String(decoding: text, as: UTF8.self)
        }
        contentHandler(content)
    }
}
