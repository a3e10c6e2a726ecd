import FoundationEssentials
import PostriderCrypto
import PostriderNotifications

/// The operator's changes to providers' keys, within Apple's limits ("Establishing a token-based connection to APNs").
extension AccessRoutes {
    /// `GET /v1/keys`.
    func listProviderKeys(_ respond: Respond) {
        let keys = providerKeys.values.sorted { $0.identifier < $1.identifier }
        respond(ControlHandler.answer(keys.map(Control.ProviderKey.init)))
    }

    /// `PUT /v1/keys/<identifier>`.
    func putProviderKey(_ identifier: String, _ body: [UInt8], _ respond: @escaping Respond) {
        guard let addition = try? JSONDecoder().decode(Control.ProviderKeyAddition.self, from: Data(body)),
            Control.isName(identifier), Control.isName(addition.team)
        else {
            respond(
                ControlHandler.refusal(
                    400,
                    "A key has an identifier and a team of \(Control.nameWords), a public key, and "
                        + "perhaps an environment (development or production), topics, a related key and an "
                        + "end."))
            return
        }
        do throws(CryptoError) {
            let key = try ES256.PublicKey(pem: addition.publicKey)
            if addition.replaces != true, let sentence = conflict(of: key, identifier, of: addition.team) {
                respond(ControlHandler.refusal(409, sentence))
                return
            }
        } catch {
            respond(
                ControlHandler.refusal(400, "Key \(identifier) is not a P-256 public key in PEM: \(error)"))
            return
        }
        let topics = addition.topics.map { $0.map(Topic.init) }
        let record = ProviderKeyRecord(
            identifier: identifier,
            team: addition.team,
            publicKey: addition.publicKey,
            addedAt: context.now,
            environment: addition.environment,
            topics: topics?.compactMap(\.self),
            relatedKey: addition.relatedKey,
            endsAt: addition.endsAt.map(Moment.init(milliseconds:))
        )
        if let sentence = topics?.contains(nil) == true
            ? "A key's topics are bundle identifiers, with a suffix for some push types."
            : objection(to: record)
        {
            respond(ControlHandler.refusal(400, sentence))
            return
        }
        change(.putProviderKey(record), respond) { $0.providerKeys[identifier] = record }
    }

    /// `PUT /v1/revoked-keys/<identifier>`. The relay goes on knowing the key, and answers its tokens with
    /// `Forbidden`.
    func revokeProviderKey(_ identifier: String, _ respond: @escaping Respond) {
        guard let record = providerKeys[identifier]?.revoked(at: context.now) else {
            respond(ControlHandler.refusal(404, "There is no key \(identifier)."))
            return
        }
        change(.putProviderKey(record), respond) { $0.providerKeys[identifier] = record }
    }

    /// `DELETE /v1/keys/<identifier>`.
    func removeProviderKey(_ identifier: String, _ respond: @escaping Respond) {
        guard providerKeys[identifier] != nil else {
            respond(ControlHandler.refusal(404, "There is no key \(identifier)."))
            return
        }
        change(.removeProviderKey(identifier: identifier), respond) { $0.providerKeys[identifier] = nil }
    }

    /// Which other key has the identifier already, as a sentence; nil if none has. A mistyped identifier must not
    /// replace the key of another team, or of another program of the same team.
    private func conflict(of key: ES256.PublicKey, _ identifier: String, of team: String) -> String? {
        guard let known = providerKeys[identifier] else { return nil }
        let isSame = (try? ES256.PublicKey(pem: known.publicKey))?.pem == key.pem
        guard known.team != team || !isSame else { return nil }
        return
            "There is \(isSame ? "that" : "another") key \(identifier), of team \(known.team), already: "
            + "remove it first, or add this one in its place (--replace; \"replaces\": true)."
    }

    /// Why a key cannot be added, as a sentence; nil if it can.
    private func objection(to record: ProviderKeyRecord) -> String? {
        guard !record.isOver(at: context.now) else { return "A key's end is a time to come." }
        let others = providerKeys.values.filter {
            $0.identifier != record.identifier && $0.team == record.team && !$0.isOver(at: context.now)
                && $0.environment == record.environment && ($0.topics == nil) == (record.topics == nil)
        }
        guard let topics = record.topics else {
            if record.relatedKey != nil {
                return "Only a topic-specific key has a related key: give topics as well, or no related key."
            }
            guard record.environment == nil || others.count < Limits.teamKeysPerEnvironment else {
                return
                    "Team \(record.team) has \(others.count) keys for that environment already: revoke one, "
                    + "or make the new one topic-specific."
            }
            return nil
        }
        guard record.environment != nil else {
            return "A topic-specific key is for one environment: say which, development or production."
        }
        guard 1...Limits.topicsPerKey ~= topics.count else {
            return "A topic-specific key has from 1 to \(Limits.topicsPerKey) topics."
        }
        guard others.count < Limits.topicKeysPerEnvironment else {
            return
                "Team \(record.team) has \(others.count) topic-specific keys for that environment already: "
                + "revoke one."
        }
        return record.relatedKey.flatMap { objection(toRelationWith: $0, record, among: others) }
    }

    /// Each topic-specific key has at most one related key, and that one is related to it as well.
    private func objection(
        toRelationWith related: String, _ record: ProviderKeyRecord, among others: [ProviderKeyRecord]
    ) -> String? {
        guard others.contains(where: { $0.identifier == related }) else {
            return
                "The related key \(related) must be there already, as a good topic-specific key of the same "
                + "team and environment."
        }
        let named = providerKeys[related]?.relatedKey.flatMap { providerKeys[$0]?.identifier }
        let naming = providerKeys.values.filter {
            $0.relatedKey == related || $0.relatedKey == record.identifier
        }
        let relatives = Set([named].compactMap(\.self) + naming.map(\.identifier))
        guard relatives.isSubset(of: [record.identifier, related]) else {
            return
                "A key has at most one related key, and \(related) or \(record.identifier) has one already."
        }
        return nil
    }
}

extension Control.ProviderKey {
    init(_ record: ProviderKeyRecord) {
        self.init(
            identifier: record.identifier, team: record.team, addedAt: record.addedAt.milliseconds,
            environment: record.environment, topics: record.topics?.map(\.text),
            relatedKey: record.relatedKey, revokedAt: record.revokedAt?.milliseconds,
            endsAt: record.endsAt?.milliseconds)
    }
}
