import PostriderJSON
import PostriderNotifications
import PostriderWebPush

/// Plain sends of scripts: lines `name: value`, an empty line, and the text.
enum PlainSends {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        let (fields, body) = WebPushRequests.read(input)
        let outcome = Result { () throws(PlainMessage.Flaw) in
            try PlainMessage(body: body) { fields[$0] ?? [] }
        }
        switch outcome {
        case .success(let message): try check(message, String(decoding: body, as: UTF8.self))
        case .failure(let flaw):
            try hold((400...499).contains(flaw.status), "the request is blamed on the relay")
        }
    }

    private static func check(_ message: PlainMessage, _ text: String) throws(Contradiction) {
        try hold(message.payload.count <= 4096, "the payload is too large")
        let alert = JSONValue.members(ofObject: message.payload.span)?["aps"]?.object?["alert"]?.object
        try hold(alert?["body"] == .string(text), "the device gets another text")
        try hold((0...2_592_000).contains(message.secondsToLive), "it lives for \(message.secondsToLive) s")
        try hold((1...64).contains(message.collapse?.utf8.count ?? 1), "the collapse identifier is too long")
    }
}
