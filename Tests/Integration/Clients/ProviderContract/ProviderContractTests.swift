import Foundation
import PostriderClients
import PostriderHTTP2
import PostriderNotifications
import PostriderRelay
import Testing

/// Tests the provider contract, case by case, against a real relay over TLS.
@Suite("The provider contract", .serialized)
struct ProviderContractTests {
    @Test(
        "is kept in every case, whoever reads header blocks",
        arguments: ContractTable.groups, [ProtocolCode(), .nghttp2])
    func group(_ group: ContractGroup, _ code: ProtocolCode) async throws {
        var houses: [ContractSetting: ContractFixture] = [:]
        for one in group.cases {
            let fixture: ContractFixture
            if let known = houses[one.setting] {
                fixture = known
            } else {
                fixture = try await ContractFixture(one.setting, code)
                houses[one.setting] = fixture
            }
            do {
                try check(one, isBinding: group.isBinding, in: fixture)
            } catch {
                Issue.record("\(one.name): \(error)")
            }
        }
        for fixture in houses.values { await fixture.stop() }
    }

    private func check(_ one: ContractCase, isBinding: Bool, in fixture: ContractFixture) throws {
        let client =
            isBinding || !one.before.isEmpty
            ? try fixture.connect(in: one.environment) : try fixture.sharedConnection(in: one.environment)
        for request in one.before {
            let status = try fixture.answer(request, over: client).status
            #expect(200..<300 ~= status, "\(one.name): before it, \(status)")
        }
        var response = try fixture.answer(one.request, over: client)
        // On a slow machine a bucket refills while the test empties it, therefore the test continues until it is
        // empty.
        for _ in 0..<10_000 where one.isRepeated && response.status == 200 {
            response = try fixture.answer(one.request, over: client)
        }
        let body = String(decoding: response.body, as: UTF8.self)
        #expect(
            response.status == one.answer.status && body == fixture.filled(json: one.answer.body),
            "\(one.name): \(response.status) \(body)")
        checkIdentity(response, one)
        checkHeaders(response, one)
    }

    /// Expects that the answer has the request's identity or, if it has none, a new one.
    private func checkIdentity(_ response: RequestClient.Response, _ one: ContractCase) {
        let names = one.request.model.identityHeaders
        func sent(_ header: String) -> String? { one.request.headers.first { $0.name == header }?.value }
        let known = names.lazy.compactMap(sent).first
        let received = names.map { response.head.text(of: $0) ?? "" }
        for (name, identity) in zip(names, received) where one.answer.headers[name] == nil {
            if let expected = sent(name) ?? known {
                #expect(identity == expected, "\(one.name): \(name) comes back")
            } else {
                #expect(
                    identity.wholeMatch(of: /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/) != nil
                        && identity == received[0], "\(one.name): \(name) is drawn")
            }
        }
    }

    /// Expects the headers of every answer and those of this one.
    private func checkHeaders(_ response: RequestClient.Response, _ one: ContractCase) {
        for (name, value) in one.answer.headers {
            let received = response.head.text(of: name)
            #expect(value == "*" ? received != nil : received == value, "\(one.name): \(name)")
        }
        let type = response.head.text(of: "content-type")
        #expect(
            type == (one.answer.body.isEmpty ? nil : "application/json"), "\(one.name): the content type")
        var names: [String] = []
        response.head.forEach { name, _ in
            names.append(String(decoding: name.indices.map { name[$0] }, as: UTF8.self))
        }
        let expected = Set([":status", "content-type", "apns-unique-id"] + one.request.model.identityHeaders)
            .union(one.answer.headers.keys)
        #expect(expected.isSuperset(of: names) && Set(names).count == names.count, "\(one.name): \(names)")
        #expect(
            one.environment == .development || !names.contains("apns-unique-id"),
            "\(one.name): the unique identity is for development")
        #expect(response.trailers == nil)
    }

    @Test("has a case for every reason, and cases that are called differently")
    func completeness() {
        let reasons =
            ContractTable.cases.compactMap(\.answer.reason) + ContractTable.events.compactMap(\.reason)
        let missing = Set(Rejection.allCases.map(\.rawValue)).subtracting(reasons)
        #expect(missing.isEmpty, "no case for \(missing.sorted())")
        let names = ContractTable.cases.map(\.name) + ContractTable.events.map(\.name)
        #expect(
            Set(names).count == names.count,
            "\(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys)")
        #expect(names.count > 100)
    }

    @Test("is shown elsewhere where it says so")
    func events() throws {
        for event in ContractTable.events {
            let file = ContractDocument.root.appending(path: "Tests/" + event.shownBy.file)
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains(event.shownBy.test), "\(event.name): \(event.shownBy)")
        }
    }

    /// `make provider-api` sets `POSTRIDER_WRITE_DOCUMENTS=1`; then this test writes the pages.
    @Test("is what its pages in docs/reference say", arguments: ContractDocument.Page.allCases)
    func document(page: ContractDocument.Page) throws {
        let file = ContractDocument.root.appending(path: "docs/reference/" + page.rawValue)
        let present = try String(contentsOf: file, encoding: .utf8)
        let wanted = try #require(
            ContractDocument.renewed(present, as: page), "the marks of the cases are missing")
        if ProcessInfo.processInfo.environment["POSTRIDER_WRITE_DOCUMENTS"] != nil {
            try Data(wanted.utf8).write(to: file)
        } else {
            #expect(present == wanted, "\(page.rawValue) differs from the table: run make provider-api")
        }
    }
}

extension ContractAnswer {
    /// The complete body.
    var body: String {
        guard let reason else { return text }
        return #"{"reason":"\#(reason)""# + (timestamp.map { #","timestamp":\#($0)"# } ?? "") + "}"
    }
}
