import PostriderJSON
import PostriderNotifications
import PostriderWebPush

/// Requests of application servers: lines `name: value`, an empty line, and the body.
enum WebPushRequests {
    /// Reads the fields and the body.
    static func read(_ input: [UInt8]) -> (fields: [String: [String]], body: [UInt8]) {
        var fields: [String: [String]] = [:]
        var rest = input[...]
        while let end = rest.firstIndex(of: 0x0A) {
            let line = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            guard let colon = line.firstIndex(of: ":") else { break }
            fields[line[..<colon].lowercased(), default: []].append(line[line.index(after: colon)...].trimmed)
        }
        return (fields, Array(rest))
    }

    static func run(_ input: [UInt8]) throws(Contradiction) {
        let (fields, body) = read(input)
        let outcome = Result { () throws(WebPushRejection) in
            try WebPushRequest(body: body) { fields[$0] ?? [] }
        }
        switch outcome {
        case .success(let request):
            try check(request, body)
            let verifier = VAPIDVerifier(origin: "https://push.example.org")
            let verdict = Result { () throws(WebPushRejection) in
                try verifier.verify(request.credentials, for: nil, at: Moment(seconds: 1_767_225_600))
            }
            if case .failure(let rejection) = verdict { try check(rejection) }
        case .failure(let rejection): try check(rejection)
        }
    }

    private static func check(_ request: WebPushRequest, _ body: [UInt8]) throws(Contradiction) {
        try hold(body.count <= 4096, "the message is too large")
        try hold((try? request.appMessage()) == (body.isEmpty ? nil : body), "an app gets other bytes")
        try hold((0...2_592_000).contains(request.secondsToLive), "it lives for \(request.secondsToLive) s")
        try hold((request.topic?.utf8.count ?? 1) <= 32, "the topic is too long")
        guard let message = try? request.browserMessage() else { return }
        try hold(message.bytes == body, "the message is another one")
        let stored = message.stored
        try hold(stored.count <= WebPushMessage.mostStoredBytes, "it takes \(stored.count) bytes")
        try hold(WebPushMessage(stored: stored) == message, "the queue changes it")
        let notification = AutopushNotification(channel: "c", version: "v", message: message)
        let text = AutopushResponse.notification(notification).bytes
        try hold(JSONSyntax.isObject(text.span), "the device cannot read it")
    }

    private static func check(_ rejection: WebPushRejection) throws(Contradiction) {
        let members = JSONValue.members(ofObject: rejection.body.span)
        try hold(members?["code"] == .integer(Int64(rejection.status)), "the answer has another code")
        try hold((400...499).contains(rejection.status), "the request is blamed on the relay")
    }
}
