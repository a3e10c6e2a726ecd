import PostriderNotifications
import Testing

@testable import PostriderKit

@Suite("What was handed over")
struct HandOverTests {
    private func identity(_ number: UInt64) -> NotificationIdentity {
        NotificationIdentity(high: 1, low: number)
    }

    @Test("is posted once, and confirmed as often as it comes")
    func repetition() {
        var handOver = HandOver()
        #expect(handOver.arrived(identity(1), as: 1) == .post)
        #expect(handOver.observed(identity(1)) == 1)
        handOver.streamEnded()
        #expect(handOver.arrived(identity(1), as: 1) == .confirm)
        #expect(handOver.arrived(identity(2), as: 2) == .post)
    }

    @Test(
        "is waited for where the observers are still at work, and confirmed on the stream that is there then")
    func slowObserver() {
        var handOver = HandOver()
        #expect(handOver.arrived(identity(1), as: 5) == .post)
        handOver.streamEnded()
        #expect(handOver.arrived(identity(1), as: 1) == .wait)
        #expect(handOver.observed(identity(1)) == 1)
    }

    @Test("is confirmed on no stream where there is none")
    func noStream() {
        var handOver = HandOver()
        #expect(handOver.arrived(identity(1), as: 5) == .post)
        handOver.streamEnded()
        #expect(handOver.observed(identity(1)) == nil)
        #expect(handOver.arrived(identity(1), as: 1) == .confirm)
    }

    @Test("is remembered for a window of deliveries, whatever came in between")
    func window() {
        var handOver = HandOver()
        for number in 1...200 as ClosedRange<UInt64> {
            #expect(handOver.arrived(identity(number), as: number) == .post)
            _ = handOver.observed(identity(number))
        }
        handOver.streamEnded()
        for (index, number) in (137...200 as ClosedRange<UInt64>).enumerated() {
            #expect(handOver.arrived(identity(number), as: UInt64(index + 1)) == .confirm)
        }
    }

    @Test("is posted again when an observer has failed")
    func failure() {
        var handOver = HandOver()
        #expect(handOver.arrived(identity(1), as: 4) == .post)
        #expect(handOver.failed(identity(1)) == 4)
        #expect(handOver.failed(identity(1)) == nil)
        #expect(handOver.arrived(identity(1), as: 5) == .post)
        handOver.streamEnded()
        #expect(handOver.failed(identity(1)) == nil)
    }
}
