import Courier
import Notifications
import Testing

@testable import Agent
@testable import Storage

@Suite("An agent under which the disk has failed")
struct AgentRenewalTests {
    private let rig: DeskRig
    private var state: AgentState { rig.ground.state }

    init() throws { rig = try DeskRig() }

    @Test("acknowledges nothing and hands over what it has, until its state is opened anew")
    func doubt() throws {
        let app = rig.attached()
        rig.arrive(1)
        rig.desk.endTurn()
        state.trusted.file.database.isDoubtful = true
        rig.arrive(2)
        #expect(rig.desk.handled([1], by: app.stream))
        rig.desk.endTurn()
        #expect(state.needsRenewal && rig.line.acknowledged == [1] && rig.line.asked.last == "start anew")
        #expect(app.identities == [1])

        try state.renew()
        rig.desk.linkEnded()
        rig.arrive(2)
        rig.desk.endTurn()
        #expect(rig.line.acknowledged == [1, 3] && app.identities == [1, 2])
        try rig.kill()
        #expect(rig.attached().identities == [2], "what was handled in the doubt is not there any more")
    }

    @Test("knows afterwards what the file holds, also of changes that had failed")
    func reload() throws {
        let app = rig.attached()
        let topic = try #require(Topic("com.example.other"))
        let refused = try state.apps.add(topic, user: 1000)
        _ = try state.trusted.file.database.number(
            "DELETE FROM apps WHERE number = \(refused.number) RETURNING 1")
        state.trusted.file.database.isDoubtful = true
        #expect(throws: StoreError.self) { try state.apps.remove(refused) }
        try state.renew()
        #expect(state.apps[topic.text] == nil && state.apps[RecordedApp.topic] != nil)
        #expect(app.delivered.isEmpty)
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(app.identities == [1])
    }
}
