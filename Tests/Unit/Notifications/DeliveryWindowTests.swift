import PostriderNotifications
import Testing

@Suite struct DeliveryWindowTests {
    @Test("numbers rise by one from 1 until the window is full", arguments: [1, 2, 63, 64])
    func filling(_ size: Int) {
        var window = DeliveryWindow(size: size)
        for number in 1...UInt64(size) { #expect(window.advance() == number) }
        #expect(!window.hasRoom)
        #expect(window.advance() == nil)
        #expect(window.outstandingCount == size)
        #expect(window.acknowledge([1]) == nil)
        #expect(window.advance() == UInt64(size) + 1)
        #expect(window.advance() == nil)
    }

    @Test(
        "the oldest outstanding number holds the window, whatever was acknowledged behind it",
        arguments: [4, 64])
    func oldestHolds(_ size: UInt64) {
        var window = DeliveryWindow(size: Int(size))
        for _ in 1...size { _ = window.advance() }
        #expect(window.acknowledge(Array((2...size).reversed())) == nil)
        #expect(window.outstandingCount == 1)
        #expect(window.advance() == nil)
        #expect(window.acknowledge([1]) == nil)
        for number in size + 1...2 * size { #expect(window.advance() == number) }
        #expect(window.advance() == nil)
    }

    @Test("a number that is not under way is told and changes nothing")
    func strangers() {
        var window = DeliveryWindow(size: 64)
        for _ in 1...5 { _ = window.advance() }
        #expect(window.acknowledge([2]) == nil)
        let before = window
        for (batch, stranger) in [
            ([0], 0), ([6], 6), ([2], 2), ([1, 3, 2], 2), ([4, 4], 4), ([.max], .max),
        ]
            as [([UInt64], UInt64)]
        {
            #expect(window.acknowledge(batch) == stranger)
            #expect(window == before)
        }
        #expect(window.acknowledge([]) == nil)
        #expect(window.acknowledge([5, 1, 4, 3]) == nil)
        #expect(window.outstandingCount == 0)
    }

    @Test("acknowledged numbers stay strangers after any number of turns")
    func longRun() {
        var window = DeliveryWindow(size: 3)
        for number in 1...1000 as ClosedRange<UInt64> {
            #expect(window.advance() == number)
            #expect(window.isOutstanding(number))
            #expect(window.acknowledge([number]) == nil)
            for gone in [1, number / 2, number] { #expect(!window.isOutstanding(gone)) }
        }
    }
}
