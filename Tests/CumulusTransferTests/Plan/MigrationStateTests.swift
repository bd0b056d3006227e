// How far a migration is: what it asks for next, and the file that keeps it.

import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct MigrationStateTests {
    private let list = MigrationLane(
        caller: "",
        database: .public,
        zone: .standard,
        type: "Note"
    )
    private let zone = MigrationLane(
        caller: ServiceAnswer.ada,
        database: .shared,
        zone: SourceZone(name: "Trips", owner: ServiceAnswer.bob)
    )

    private func page(_ times: [Int64], token: String?) -> MigrationPage {
        let entries = times.map { time in
            SourceEntry.record(
                SourceRecord(
                    name: "n\(time)",
                    type: "Note",
                    modified: SourceMoment(time: time, user: "")
                )
            )
        }
        return MigrationPage(
            entries: entries,
            token: token,
            isLast: token == nil,
            isOfQuery: true
        )
    }

    @Test func aListGoesOnByItsMarkerAndThenByTime() {
        var progress = MigrationProgress()
        #expect(progress.request(of: list) == .query("Note", in: .standard, of: .public))
        progress.take(page([100_000, 300_000], token: "m"), deferring: ["child"], at: 1_000_000)
        #expect(!progress.isDone && progress.since == nil)
        #expect(
            progress.request(of: list)
                == .query("Note", in: .standard, of: .public, marker: "m")
        )
        progress.take(page([200_000], token: nil), deferring: ["other"], at: 2_000_000)
        #expect(progress.isDone && progress.count == 3)
        #expect(progress.waiting.deferred == ["child", "other"])
        #expect(progress.since == 300_000 - MigrationProgress.overlap)
        #expect(
            progress.request(of: list)
                == .query("Note", in: .standard, of: .public, since: 240_000)
        )
    }

    /// "n1" is read on the first page, and changed then; "n9" is changed later, and read later.
    @Test func whatChangesDuringAPassIsInTheNextOne() {
        var progress = MigrationProgress()
        progress.take(page([100_000], token: "m"), deferring: [], at: 400_000)
        #expect(progress.start == 400_000)
        progress.take(page([900_000], token: nil), deferring: [], at: 950_000)
        #expect(progress.since == 400_000 - MigrationProgress.overlap)
        // The next pass has its own beginning.
        progress.take(page([900_000], token: nil), deferring: [], at: 1_000_000)
        #expect(progress.since == 900_000 - MigrationProgress.overlap)
    }

    @Test func whatHasNoNameIsFoundByReadingAll() {
        var progress = MigrationProgress()
        progress.take(page([900_000], token: nil), deferring: [], at: 1_000_000)
        var same = progress
        same.readAgainWhatIsLost(of: list)
        #expect(same == progress)
        progress.waiting.unnamed = 1
        progress.readAgainWhatIsLost(of: list)
        #expect(progress.since == nil && !progress.isDone && progress.waiting.unnamed == 0)
    }

    @Test func aZoneGoesOnByItsToken() throws {
        var progress = MigrationProgress()
        let page = try MigrationPage(ServiceAnswer.json("changes-zone"), of: zone)
        progress.take(page, deferring: ["Share-1"], at: 5)
        #expect(progress.token == "AQAB" && !progress.isDone)
        // The root says which share it is of; the share does not.
        #expect(progress.waiting.roots == ["Share-1": "root"])
        #expect(
            progress.request(of: zone) == .zoneChanges(zone.zone, of: .shared, token: "AQAB")
        )
    }

    @Test func aLostTokenBeginsAnewAndComparesAtTheEnd() {
        var (ofZone, ofList) = (MigrationProgress(), MigrationProgress())
        let hadNone = ofZone.forgetToken(of: zone)
        (ofZone.token, ofList.token) = ("t", "m")
        let (hadZones, hadLists) = (
            ofZone.forgetToken(of: zone), ofList.forgetToken(of: list)
        )
        #expect(!hadNone && hadZones && hadLists)
        #expect(ofZone.token == nil && ofZone.mustSweep)
        #expect(ofList.token == nil && !ofList.mustSweep)
    }

    @Test func aRefusedZoneIsARefusal() throws {
        let json = try JSONReader.read(
            #"""
            {"zones": [{
                "zoneID": {"zoneName": "Trips"},
                "serverErrorCode": "BAD_REQUEST",
                "reason": "Unknown sync continuation type"
            }]}
            """#
            .utf8
        )
        let error = #expect(throws: SourceRefusalError.self) {
            _ = try MigrationPage(json, of: zone)
        }
        #expect(error?.refusal.isOfToken == true)
    }

    private var state: MigrationState {
        var state = MigrationState(source: "https://a/c/production", target: "c/production")
        state.users = ["": MigratedUser(name: "migrated", recordName: "_1")]
        state.users[ServiceAnswer.ada] = MigratedUser(name: "ada \"quoted\"", recordName: "_2")
        var progress = MigrationProgress()
        (progress.token, progress.since, progress.newest) = ("AQ==", -5, 7)
        (progress.waiting.deferred, progress.waiting.roots) = (["a", "b"], ["s": "r"])
        (progress.waiting.failed, progress.waiting.unnamed) = (["c": "no \"rights\""], 3)
        (progress.start, progress.mark) = (4, MigrationWaiting.Mark(number: 2, bytes: 8))
        (progress.isDone, progress.mustSweep, progress.count) = (true, true, 9)
        state.lanes = [list: progress, zone: MigrationProgress()]
        state.databases = [MigrationState.key(ServiceAnswer.ada, .shared): "AQID"]
        state.subscriptions = ["ada/public/all": "00ff"]
        state.sessions = ["ada": ["00ff"]]
        return state
    }

    @Test func theFileKeepsAllOfIt() throws {
        let text = state.json.text
        #expect(try MigrationState(JSONReader.read(text.utf8)) == state)
    }

    @Test func aDamagedFileIsRefusedOrRead() throws {
        let bytes = Array(state.json.text.utf8)
        var dice = SeededGenerator(seed: 7)
        var refused = 0
        for _ in 0..<1_000 {
            var changed = bytes
            changed[Int.random(in: 0..<bytes.count, using: &dice)] = .random(
                in: 0...255,
                using: &dice
            )
            do {
                _ = try MigrationState(JSONReader.read(changed))
            } catch is InputProblem {
                refused += 1
            } catch is JSONReader.Problem {
                refused += 1
            }
        }
        #expect(refused > 100)
        for text in ["{}", "[]", #"{"format": 2, "source": "a", "target": "b"}"#] {
            #expect(throws: InputProblem.self) {
                try MigrationState(JSONReader.read(text.utf8))
            }
        }
    }

    @Test func listsAreReadAgainAndZonesOnlyIfTheyChanged() {
        var state = state
        #expect(state.openLanes(of: "") == [list])
        state.lanes[list]?.waiting.deferred = []
        #expect(state.openLanes(of: "") == [list])
        #expect(state.failures(of: "") == 4 && state.failures(of: ServiceAnswer.ada) == 0)
        state.lanes[list]?.waiting.failed = [:]
        state.lanes[list]?.mustSweep = false
        #expect(state.openLanes(of: "").isEmpty)
        state.beginRound(of: "")
        #expect(state.openLanes(of: "") == [list])
        #expect(state.openLanes(of: ServiceAnswer.ada) == [zone])
        state.lanes[zone]?.isDone = true
        state.beginRound(of: ServiceAnswer.ada)
        #expect(state.openLanes(of: ServiceAnswer.ada).isEmpty)
    }

    @Test func manyDeletionsAtOnceAreDoubted() {
        #expect(!Migration.isDoubtful(10, of: 10) && !Migration.isDoubtful(11, of: 22))
        #expect(Migration.isDoubtful(11, of: 21))
    }

    @Test func namesOfUsersComeFromAFile() throws {
        let text = "\(ServiceAnswer.ada) ada lovelace\n\n\(ServiceAnswer.bob)  bob\n"
        #expect(
            try Migration.names(in: text, of: "f")
                == [ServiceAnswer.ada: "ada lovelace", ServiceAnswer.bob: "bob"]
        )
        for wrong in ["ada", "\(ServiceAnswer.ada)", "x y", text + text] {
            #expect(throws: InputProblem.self) { try Migration.names(in: wrong, of: "f") }
        }
    }
}
