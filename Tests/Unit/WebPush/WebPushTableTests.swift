import Foundation
import PostriderJSON
import Testing

@testable import PostriderWebPush

@Suite("A Web Push request")
struct WebPushTableTests {
    @Test("gets the answer of the table", arguments: WebPushTable.groups.flatMap(\.cases))
    func cases(_ one: WebPushCase) {
        switch (one.outcome(), one.rejection) {
        case (.success, nil): break
        case (.failure(let found), let expected): #expect(found == expected)
        case (.success, let expected): Issue.record("was accepted, and not refused with \(expected!)")
        }
    }

    @Test("has a number of its own for each rule")
    func names() {
        let names = WebPushTable.groups.flatMap(\.cases).map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("is refused with the members of Mozilla's service, and fields that help", arguments: rejections)
    func refusal(_ rejection: WebPushRejection) throws {
        let body = rejection.body
        let read = JSONValue.members(ofObject: body.span)
        let members = try #require(read)
        #expect(members["code"] == .integer(Int64(rejection.status)))
        #expect(members["errno"]?.wholeNumber == rejection.errno.map(Int64.init))
        #expect(members["message"] == .string(rejection.explanation))
        let names = rejection.fields.map(\.name)
        #expect(names.contains("retry-after") == (rejection.status == 429 || rejection.status == 503))
        #expect(names.contains("www-authenticate") == (rejection.status == 401))
        #expect(names.contains("allow") == (rejection.status == 405))
    }

    static let rejections: [WebPushRejection] =
        [
            .missingTTL, .invalidTTL, .invalidUrgency, .invalidTopic, .unknownEncoding,
            .missingEncryptionKeys, .invalidEncryptionKeys, .messageTooLarge, .unauthorized, .notFound, .gone,
            .methodNotAllowed(allowed: "POST"), .tooManyRequests(retryAfterSeconds: 7),
            .unavailable(retryAfterSeconds: 1),
        ] + VAPIDFlaw.allCases.map { .forbidden($0) }

    /// `make web-push` sets `POSTRIDER_WRITE_DOCUMENTS=1`; then this test writes the document.
    @Test("is described by docs/reference/web-push.md")
    func document() throws {
        let file = WebPushDocument.root.appending(path: "docs/reference/web-push.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let wanted = try #require(WebPushDocument.renewed(text), "the marks of the cases are missing")
        if ProcessInfo.processInfo.environment["POSTRIDER_WRITE_DOCUMENTS"] != nil {
            try Data(wanted.utf8).write(to: file)
        } else {
            #expect(text == wanted, "web-push.md differs from the table: run make web-push")
        }
    }
}
