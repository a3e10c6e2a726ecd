import PostriderCourier
import PostriderNotifications

/// The possible steps and their frequencies.
extension World {
    static let keepaliveSeconds: [UInt32] = [5, 15, 30]
    private static let faults: [Push.Fault] = [
        .method, .forgedToken, .topic, .payload, .hugeBody, .reset,
    ]
    /// Runs one step. Calm and faulty phases alternate, because links must live for a while to become full.
    func step() throws {
        steps += 1
        if chance.once(in: 10) {
            stepWeb()
            return endClientTurns()
        }
        let isCalm = steps / 1_000 % 2 == 1
        switch chance.number(0...(isCalm ? 939 : 999)) {
        case 0..<490: if !exchange() { checkQuiet() }
        case 490..<500: registerSomebody()
        case 500..<640: push()
        case 640..<680: stepChannels()
        case 680..<790: acknowledge()
        case 790..<855: connectSomebody()
        case 855..<925: advance(byMilliseconds: Int64(chance.number(0...400)))
        case 925..<934: resend()
        case 934..<938: wish()
        case 938: withSession { if $0.isWelcome { $0.say(.fetch) } }
        case 939: storm()
        case 940..<952: cutSomebody()
        case 952..<960: withSession { $0.leave() }
        case 960..<966: withSession { $0.enrol() }
        case 966..<976: registerSomebody()
        case 976..<980: withSession { $0.ping() }
        case 980..<984: closeHalf()
        case 984..<986: goDead()
        case 986..<992: changeDisk()
        case 992..<996: advance(byMilliseconds: 11_000)
        case 996 where chance.once(in: 2): try crash()
        case 997 where chance.once(in: 3): try restartInOrder()
        case 998: jump()
        case 999 where chance.once(in: 3): removeSomebody()
        default: disk.health = .well
        }
        if isFlooded { flood() }
        endClientTurns()
    }

    private func withSession(_ event: (SimulatedDeviceSession) -> Void) {
        guard let session = chance.pick(sessions) else { return }
        findings.count()
        event(session)
    }

    private func acknowledge() { withSession { $0.acknowledge(chance.number(1...12)) } }

    private func registerSomebody() {
        withSession { session in
            if chance.once(in: 4) { return session.unregister(chance.pick(Self.topics) ?? "") }
            session.register(
                chance.pick(Self.topics + ["app.none", "not/a topic"]) ?? "",
                in: chance.once(in: 3) ? .development : .production)
        }
    }

    // MARK: Pushes

    private func push() {
        guard let device = chance.pick(devices), let target = target(of: device),
            let provider = chance.pick(
                providers.filter { chance.once(in: 12) || $0.environment == target.environment })
        else { return }
        let isNowOrNever = chance.once(in: 6)
        let isAstray = provider.environment != target.environment
        let lasts = !isNowOrNever && chance.once(in: 4)
        make(
            Push(
                number: pushes.all.count, device: device.index, incarnation: target.incarnation,
                topic: target.topic, token: target.token.hex,
                fault: isAstray
                    ? .environment : chance.once(in: 8) ? chance.pick(Self.faults) ?? .none : .none,
                priority: chance.pick(["10", "5", "1"]) ?? "10",
                expiresAt: lasts
                    ? Moment(seconds: (now.milliseconds + Int64(chance.number(0...20_000))) / 1000) : nil,
                isNowOrNever: isNowOrNever,
                collapse: chance.once(in: 3) ? "c\(pushes.all.count / 60)" : nil,
                sentAt: events, connection: provider.number),
            by: provider)
    }

    private func make(_ push: Push, by provider: SimulatedProvider) {
        guard provider.send(push) else { return }
        findings.count()
        pushes.append(push)
        pushes[push.number].attempts = 1
        pushes[push.number].open = 1
    }

    /// Returns a token of the device, sometimes a dead one.
    private func target(of device: SimulatedDevice) -> (
        token: DeviceToken, topic: String, environment: PostriderNotifications.Environment,
        incarnation: DeviceIdentity
    )? {
        if chance.once(in: 20),
            let token = chance.pick(device.deadTokens.keys.sorted { $0.hex < $1.hex }),
            let dead = device.deadTokens[token]
        {
            return (token, dead.topic, dead.environment, dead.incarnation)
        }
        guard let topic = chance.pick(device.registrations.keys.sorted()),
            let known = device.registrations[topic], let identity = device.identity
        else { return nil }
        return (known.deviceToken, topic, known.environment, identity)
    }

    /// Repeats a push with the same `apns-id`, because its result is unknown or it was to be repeated, and sometimes
    /// without a reason.
    private func resend() {
        let number = chance.once(in: 6) ? chance.pick(pushes.indices) : resendable.popLast()
        guard let number, pushes[number].fault == .none, pushes[number].open == 0 else { return }
        let environment = environment(of: pushes[number].token, on: pushes[number].device)
        guard let provider = chance.pick(providers.filter { $0.environment == environment }),
            provider.send(pushes[number])
        else { return }
        findings.count()
        pushes[number].attempts += 1
        pushes[number].open += 1
    }

    private func environment(of token: String, on index: Int) -> PostriderNotifications.Environment? {
        let device = devices[index]
        if let known = device.registrations.values.first(where: { $0.deviceToken.hex == token }) {
            return known.environment
        }
        return device.deadTokens.first { $0.key.hex == token }?.value.environment
    }

    // MARK: A flood

    /// Whether it is the device that stays away.
    func isAway(_ device: SimulatedDevice) -> Bool {
        isFlooded && device.index == 6 && !device.registrations.isEmpty && floodsLeft > 0
    }

    private func flood() {
        guard floodsLeft > 0, let known = devices[6].registrations["app.one"],
            let identity = devices[6].identity,
            let provider = providers.first(where: { $0.environment == known.environment })
        else { return }
        for wire in clients where devices[6].session?.endpoint === wire.session { cut(wire) }
        guard devices[6].session == nil, chance.once(in: 3) else { return }
        floodsLeft -= 1
        make(
            Push(
                number: pushes.all.count, device: 6, incarnation: identity, topic: "app.one",
                token: known.deviceToken.hex, fault: .none,
                priority: chance.pick(["10", "5", "1"]) ?? "10", expiresAt: nil, isNowOrNever: false,
                collapse: nil, sentAt: events, connection: provider.number),
            by: provider)
    }
}
