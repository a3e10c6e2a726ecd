import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("The control socket")
struct ControlSessionTests {
    @Test("answers with what fits, and with a sentence where it does not")
    func bounds() {
        let most = [UInt8](repeating: 0x20, count: Limits.controlAnswerBytes)
        #expect(ControlSession.fitting(ControlAnswer(200, most)).body.count == most.count)
        let refusal = ControlSession.fitting(ControlAnswer(200, most + [0x20]))
        #expect(refusal.status == 503)
        #expect(String(decoding: refusal.body, as: UTF8.self).contains("64 MiB that are sent at once"))
    }

    @Test("tells a copy whose name is taken from one that failed")
    func copies() {
        #expect(
            ControlHandler.refusal(ofCopy: StoreError(.conflict, "There is /copy already.")).status == 409)
        let failures: [StoreError.Kind] = [.unusable, .full, .inputOutput, .busy]
        for kind in failures {
            #expect(ControlHandler.refusal(ofCopy: StoreError(kind, "It failed.")).status == 503)
        }
    }
}
