// A caller in a simulated world: the production client, over the simulated network.
//
// It saves one record again and again, in some worlds with a file. It reads the record back through
// the node that it is connected to, and keeps a copy of its zone by its changes. It must see every
// acknowledged save from then on: its session travels with it. In worlds with files other records
// come and go: after they are forgotten, nodes that were away take over the zone in full. In worlds
// with notes two clients of one user write and delete each other's records. Now and then one of
// them rests for so long that changes which it needs are forgotten meanwhile.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusWire
import Foundation

final class SimulatedClient: @unchecked Sendable {
    // Used by one thread.

    /// It was shown another value of its record than it may be.
    struct Surprise {
        let recordName: String
        let found: Int64
        /// The save that was acknowledged.
        let saved: Int64
        /// The time at which it began that save, in milliseconds of the world's time.
        let began: Int64
        /// Everything is healed by now.
        let isLast: Bool
        let text: String
    }

    /// A save that was acknowledged.
    struct Save {
        let recordName: String
        let value: Int64
        /// The time at which it began, in milliseconds of the world's time.
        let began: Int64
    }

    /// The client's other activities.
    struct Habits {
        /// Puts files on its record.
        var hasFiles = false
        /// Writes and deletes records that other clients of its user have, too, and rests.
        var hasNotes = false
        /// The number of other nodes on which each save has to be.
        var replicas = 0
    }

    /// The observer of its results.
    struct Observer {
        /// Takes what must not be.
        let report: (Surprise) -> Void
        /// Takes what was saved on so many other nodes too.
        let confirm: (Save, Int) -> Void
        /// Takes the values of all records of its zone once it has all changes, and the token.
        let compare: (_ copy: [String: Int64], _ token: ServerChangeToken) -> Void
        /// Takes what happens.
        let tell: (String) -> Void
    }

    let number: Int
    let process: SimulatedProcess
    private let container: Container
    private let database: Database
    private let zoneID = RecordZone.ID(zoneName: "mine")
    private let recordID: Record.ID
    private let habits: Habits
    private let observer: Observer
    private let time: VirtualTime
    private var dice: SeededGenerator
    /// The files that it put on its record, by their digests; nil means it has none.
    private var files: [Bytes: Bytes]?
    /// The value of the last save that was answered, and of the last one that was tried.
    private(set) var (saved, tried): (Int64, Int64) = (0, 0)
    /// The time at which the last answered save began.
    private var began: Int64 = 0
    /// The zone, by its changes, and the token that stands for it; nil means nothing yet.
    private var copy: [String: Int64] = [:]
    private var token: ServerChangeToken?
    /// How often it saved, read, and had all changes.
    private(set) var counts: [String: Int] = [:]
    private(set) var isDone = false
    private var isLast = false
    /// Why the last call that failed did.
    private(set) var lastFailure = ""

    init(
        _ number: Int,
        _ time: VirtualTime,
        _ network: SimulatedNetwork,
        nodes: Int,
        token: String,
        seed: UInt64,
        _ habits: Habits,
        _ observer: Observer
    ) {
        self.number = number
        self.habits = habits
        self.observer = observer
        self.time = time
        dice = SeededGenerator(seed: seed)
        files = habits.hasFiles ? [:] : nil
        let process = SimulatedProcess(time, seed: dice.next())
        self.process = process
        let endpoints = (0..<nodes).map { SimulatedNetwork.endpoint(of: ($0 + number) % nodes) }
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.accessToken = token
        configuration.timeout = .seconds(20)
        if habits.replicas > 0 {
            configuration.writeConcern = .replicated(habits.replicas)
        }
        let environment = ClientEnvironment(
            now: { time.now },
            wallClock: { time.milliseconds },
            random: { process.random() },
            sleep: { try await process.sleep($0) },
            dialer: SimulatedDialer(network, SimulatedClient.machine(number), process),
            executor: process,
            connectionExecutor: { process }
        )
        container = Container(
            identifier: SimulatedNode.container,
            configuration: configuration,
            environment: environment
        )
        database = container.privateCloudDatabase
        recordID = Record.ID(recordName: "my\(number)", zoneID: zoneID)
    }

    static func machine(_ number: Int) -> Int { 100 + number }

    /// Works until it is told to end.
    func start() {
        process.run { [self] in
            while await !makeZone() {
                guard await pause(500) else { return }
            }
            while await pause(Int64.random(in: 10...400, using: &dice)) {
                if files != nil, Int.random(in: 0..<6, using: &dice) == 0 { await churn() }
                if habits.hasNotes {
                    await write()
                    if Int.random(in: 0..<80, using: &dice) == 0 {
                        count("rests")
                        observer.tell("client \(number) rests")
                        guard await pause(30_000) else { return }
                    }
                }
                switch Int.random(in: 0..<4, using: &dice) {
                case 0, 1: await save()
                case 2: _ = await fetch()
                default: _ = await fetchChanges()
                }
            }
        }
    }

    /// Looks once more at all of it, when everything is healed.
    func finish() {
        process.cancelTasks()
        isLast = true
        process.run { [self] in
            // The token of its copy may have expired meanwhile.
            for _ in 0..<2 {
                let hasRead = await fetch()
                let hasAll = await fetchChanges()
                isDone = hasRead && hasAll
                if isDone { return }
            }
        }
    }

    private func makeZone() async -> Bool {
        (try? await database.save(RecordZone(zoneID: zoneID))) != nil
    }

    private func pause(_ milliseconds: Int64) async -> Bool {
        (try? await process.sleep(milliseconds)) != nil
    }

    private func count(_ what: String) {
        counts[what, default: 0] += 1
    }

    // MARK: Calls

    private func save() async {
        tried += 1
        let (value, began) = (tried, time.milliseconds)
        var record = Record(recordType: "Own", recordID: recordID)
        record["value"] = .int64(value)
        if files != nil, Bool.random(using: &dice) { record["file"] = .asset(newFile()) }
        guard
            let results = try? await database.modifyRecords(
                saving: [record],
                deleting: [],
                savePolicy: .changedKeys
            ),
            (try? results.saveResults[recordID]?.get()) != nil
        else { return count("saves that failed") }
        (saved, self.began) = (value, began)
        observer.tell("client \(number) saved \(value)")
        if habits.replicas > 0 {
            let name = recordID.recordName
            let save = Save(recordName: name, value: value, began: began)
            observer.confirm(save, habits.replicas)
        }
        count("saves")
    }

    /// Saves or deletes one of the records that several clients write.
    private func write() async {
        let name = "note\(Int.random(in: 0..<12, using: &dice))"
        let id = Record.ID(recordName: name, zoneID: zoneID)
        if Int.random(in: 0..<3, using: &dice) == 0 {
            if (try? await database.deleteRecord(withID: id)) != nil { count("deletions") }
            return
        }
        var record = Record(recordType: "Own", recordID: id)
        record["value"] = .int64(Int64.random(in: 0...Int64.max, using: &dice))
        _ = try? await database.modifyRecords(
            saving: [record],
            deleting: [],
            savePolicy: .changedKeys
        )
    }

    /// Saves another record, with a file, and deletes it.
    private func churn() async {
        let id = Record.ID(recordName: "brief\(number)", zoneID: zoneID)
        var record = Record(recordType: "Own", recordID: id)
        record["file"] = .asset(newFile())
        _ = try? await database.modifyRecords(
            saving: [record],
            deleting: [],
            savePolicy: .changedKeys
        )
        if (try? await database.deleteRecord(withID: id)) != nil { count("deletions") }
    }

    /// Returns false if it got no answer.
    private func fetch() async -> Bool {
        let wanted = saved
        do {
            let record = try await database.record(for: recordID)
            check(record["value"], atLeast: wanted, "read")
            observer.tell("client \(number) read \(record["value"].map { "\($0)" } ?? "nothing")")
            count("reads")
            return await readFile(of: record)
        } catch {
            lastFailure = "\(error)"
            guard await isGone(error) else { return false }
            check(nil, atLeast: wanted, "read")
            return true
        }
    }

    /// Whether a call failed because its record, or its zone, isn't there; the zone is made again.
    private func isGone(_ error: any Error) async -> Bool {
        switch (error as? ServiceError)?.code {
        case .unknownItem: return true
        case .zoneNotFound:
            count("zones made again")
            (copy, token) = ([:], nil)
            _ = await makeZone()
            return true
        default: return false
        }
    }

    /// A file of pieces that other files have too, of one chunk or several.
    private func newFile() -> Asset {
        let start = UInt64.random(in: 0..<4, using: &dice) * 60_000
        let content = SampleAsset.stream(Int.random(in: 0...150_000, using: &dice), from: start)
        files?[content.withUnsafeBytes { ChunkList(cutting: $0) }.digest] = content
        return Asset(data: Data(content))
    }

    /// Returns false if it didn't come.
    private func readFile(of record: Record) async -> Bool {
        guard case .asset(let asset) = record["file"] else { return true }
        do {
            let bytes = try await database.bytes(of: asset, in: 0..<asset.size)
            count("files read")
            if files?[asset.digest] == bytes { return true }
            let text = "client \(number) read another file than it saved"
            observer.report(surprise(found: 0, saved: 0, text))
            return true
        } catch {
            lastFailure = "\(error)"
            count("files that didn't come")
            return false
        }
    }

    /// Returns false if it doesn't have all.
    private func fetchChanges() async -> Bool {
        let wanted = saved
        do {
            var moreComing = true
            while moreComing {
                let page = try await database.recordZoneChanges(
                    inZoneWith: zoneID,
                    since: token,
                    resultsLimit: Int.random(in: 1...3, using: &dice)
                )
                for (id, result) in page.modificationResultsByID {
                    guard case .int64(let value) = try result.get().record["value"] else {
                        continue
                    }
                    copy[id.recordName] = value
                }
                for deletion in page.deletions { copy[deletion.recordID.recordName] = nil }
                token = page.changeToken
                moreComing = page.moreComing
            }
            check(copy[recordID.recordName].map { .int64($0) }, atLeast: wanted, "was told")
            if let token { observer.compare(copy, token) }
            count("changes")
            return true
        } catch {
            lastFailure = "\(error)"
            if (error as? ServiceError)?.code == .changeTokenExpired {
                count("expired tokens")
                observer.tell("client \(number) begins anew: \(error)")
                (copy, token) = ([:], nil)
            }
            _ = await isGone(error)
            return false
        }
    }

    private func check(_ value: FieldValue?, atLeast wanted: Int64, _ how: String) {
        let found: Int64 = if case .int64(let found) = value { found } else { 0 }
        if found >= wanted && found <= tried { return }
        let text = "client \(number) \(how) \(found); it had saved \(wanted), and tried \(tried)"
        observer.report(surprise(found: found, saved: wanted, text))
    }

    private func surprise(found: Int64, saved: Int64, _ text: String) -> Surprise {
        Surprise(
            recordName: recordID.recordName,
            found: found,
            saved: saved,
            began: began,
            isLast: isLast,
            text: text
        )
    }
}
