import PostriderSeededRandom
import Testing

@testable import PostriderTransport

@Suite struct TimerWheelTests {
    @Test(
        "An entry is due exactly at its tick, on every level of the wheel",
        arguments: [1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 262_143, 262_144, 16_777_216, 1 << 30, 1 << 41]
            as [UInt64])
    func exactTick(delay: UInt64) {
        for start in [0, 1, 63, 64, 4095, 999_999] as [UInt64] {
            var wheel = TimerWheel(now: start)
            let entry = wheel.insert()
            wheel.arm(entry, at: start + delay)
            var due: [Int32] = []
            wheel.advance(to: start + delay - 1, due: &due)
            #expect(due.isEmpty)
            wheel.advance(to: start + delay, due: &due)
            #expect(due == [entry])
            #expect(wheel.nextTick == nil)
        }
    }

    @Test("A deadline that has passed is due at the next tick")
    func pastDeadline() {
        var wheel = TimerWheel(now: 100)
        let entry = wheel.insert()
        wheel.arm(entry, at: 5)
        #expect(wheel.nextTick == 101)
    }

    @Test("A due entry that is disarmed, armed anew or removed before it is claimed does not fire")
    func claims() {
        var wheel = TimerWheel(now: 0)
        let entries = (0..<4).map { _ in wheel.insert() }
        for entry in entries { wheel.arm(entry, at: 10) }
        var due: [Int32] = []
        wheel.advance(to: 10, due: &due)
        #expect(Set(due) == Set(entries))
        wheel.disarm(entries[0])
        wheel.arm(entries[1], at: 20)
        wheel.remove(entries[2])
        let reused = wheel.insert()
        #expect(reused == entries[2])
        let claims = entries.map { wheel.claim($0) }
        #expect(claims == [false, false, false, true])
        let again = wheel.claim(entries[3])
        #expect(!again)
        #expect(wheel.isArmed(entries[1]))
    }

    @Test("The wheel agrees with a sorted list", arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func model(seed: UInt64) {
        var numbers = SplitMix64(seed: seed)
        var now = UInt64.random(in: 0...10_000, using: &numbers)
        var wheel = TimerWheel(now: now)
        var model: [Int32: UInt64] = [:]
        var idle: [Int32] = []
        for _ in 0..<4000 {
            switch Int.random(in: 0..<10, using: &numbers) {
            case 0...4:
                let entry = idle.popLast() ?? wheel.insert()
                let spread = UInt64(1) << UInt64.random(in: 0...24, using: &numbers)
                let deadline = now + UInt64.random(in: 0...spread, using: &numbers)
                wheel.arm(entry, at: deadline)
                model[entry] = max(deadline, now + 1)
            case 5:
                guard let entry = model.keys.sorted().randomElement(using: &numbers) else { continue }
                wheel.disarm(entry)
                model[entry] = nil
                idle.append(entry)
            case 6:
                guard let entry = model.keys.sorted().randomElement(using: &numbers) else { continue }
                wheel.remove(entry)
                model[entry] = nil
                idle.removeAll { $0 == entry }
            default:
                let spread = UInt64(1) << UInt64.random(in: 0...20, using: &numbers)
                now += UInt64.random(in: 0...spread, using: &numbers)
                var due: [Int32] = []
                wheel.advance(to: now, due: &due)
                let expected = model.filter { $0.value <= now }
                #expect(Set(due) == Set(expected.keys))
                #expect(due.count == expected.count)
                #expect(due.map { model[$0] ?? 0 } == expected.values.sorted())
                for entry in due {
                    let isClaimed = wheel.claim(entry)
                    #expect(isClaimed)
                    model[entry] = nil
                    idle.append(entry)
                }
            }
            #expect(model.keys.allSatisfy { wheel.isArmed($0) })
            if let first = model.values.min() {
                #expect(wheel.nextTick.map { $0 > now && $0 <= first } == true)
            } else {
                #expect(wheel.nextTick == nil)
            }
        }
    }
}

@Suite struct TimerTableTests {
    private let millisecond: UInt64 = 1_000_000

    @Test("A timer fires once, and never before its time, whatever fraction of a millisecond the clock shows")
    func neverEarly() {
        for fraction in [0, 1, 500_000, 999_999] as [UInt64] {
            let table = TimerTable(now: 7 * millisecond + fraction)
            var fired = 0
            let timer = table.makeTimer { fired += 1 }
            timer.arm(afterMilliseconds: 3)
            table.advance(to: 10 * millisecond + fraction - 1)
            #expect(fired == 0)
            table.advance(to: 11 * millisecond + fraction)
            #expect(fired == 1)
            #expect(!timer.isArmed)
            table.advance(to: 100 * millisecond)
            #expect(fired == 1)
        }
    }

    @Test("A timer can arm itself anew, disarm another that is due with it, and drop itself while it fires")
    func reentrance() {
        let table = TimerTable(now: 0)
        var log: [String] = []
        var first: WheelTimer?
        var second: WheelTimer?
        var third: WheelTimer?
        var fourth: WheelTimer?
        let act: (String) -> Void = { name in
            log.append(name)
            if name == "first" {
                if log.count < 3 { first?.arm(afterMilliseconds: 5) }
                third = nil
                fourth?.disarm()
            }
            if name == "second" { second = nil }
        }
        fourth = table.makeTimer { act("fourth") }
        third = table.makeTimer { act("third") }
        second = table.makeTimer { act("second") }
        first = table.makeTimer { act("first") }
        first?.arm(afterMilliseconds: 1)
        second?.arm(afterMilliseconds: 2)
        third?.arm(afterMilliseconds: 3)
        fourth?.arm(afterMilliseconds: 4)
        table.advance(to: 5 * millisecond)
        #expect(log == ["first", "second"])
        #expect(third == nil)
        #expect(second == nil)
        table.advance(to: 50 * millisecond)
        #expect(log == ["first", "second", "first"])
    }

    @Test("A timer that is armed after a pause counts from then")
    func pause() {
        let table = TimerTable(now: 0)
        var fired = 0
        let timer = table.makeTimer { fired += 1 }
        table.catchUp(with: 100 * millisecond)
        timer.arm(afterMilliseconds: 5)
        table.advance(to: 104 * millisecond)
        #expect(fired == 0)
        table.advance(to: 105 * millisecond)
        #expect(fired == 1)
    }

    @Test("Dropping a timer disarms it and lets go of what it holds")
    func dropping() {
        final class Held {}
        let table = TimerTable(now: 0)
        var held: Held? = Held()
        weak let witness = held
        var timer: WheelTimer? = table.makeTimer { [held] in _ = held }
        held = nil
        timer?.arm(afterMilliseconds: 1)
        #expect(witness != nil)
        timer = nil
        #expect(witness == nil)
        #expect(table.nextMilliseconds == nil)
        table.advance(to: 10 * millisecond)
    }
}
