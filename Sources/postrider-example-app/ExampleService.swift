import Foundation
import PostriderKit

/// Changes a push before its alert is shown, where the app's manifest names this program as its service extension: the
/// provider sends the text under `secret`, in Base64, which another app would decrypt.
final class ExampleService: NotificationServiceExtension {
    /// The first argument by which this program is its own service extension.
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
