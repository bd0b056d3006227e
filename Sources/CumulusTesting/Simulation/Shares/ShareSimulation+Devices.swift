// The devices of participants: each asks any node with the tokens that it was given, and keeps what
// it is told.
//
// Called by `ShareSimulation`. After each answer must hold: S1, the device holds what it may read
// in the state of the node that answered, and nothing else; S2, it is told no name, not even as
// deleted, that it neither held nor may read; S9, it lists the zone if it sees something there, and
// not otherwise; S12, no answer holds a record whose reading was taken away by something that the
// node had heard of.

import CumulusModel
import CumulusOperations
import CumulusStorage

/// A device of a participant.
struct SharedDevice {
    let caller: Caller
    var token: ChangeToken?
    /// Change tags of the records that it holds, by name.
    var held: [String: Bytes] = [:]
    /// The records that it held since this fetch began, and the records that it might read when
    /// this fetch or the previous one began.
    var known: Set<String> = []
    var mightRead: Set<String> = []
    /// The records that its user saved at any node.
    var saved: Set<String> = []
    /// The state in which this fetch began.
    var began = VersionVector()
    /// The token of the shared database.
    var zonesToken: ChangeToken?
    var listsZone = false

    init(_ caller: Caller) { self.caller = caller }

    mutating func forget() {
        token = nil
        held = [:]
    }
}

/// The node's view of zones, valid until a zone or a share changes.
struct KnownZones {
    let run: Incarnation
    let zones: Int
    let shares: UInt64
    let directory = ZoneDirectory()
}

extension ShareSimulation {
    private var sharedZone: ZoneAddress { ZoneAddress(name: Self.zone, owner: Self.owner.user) }

    /// The truth about a participant at a node.
    private struct Truth {
        let picture: ZonePicture?
        let may: Set<String>
        /// The same by what was done, as far as the node has heard of it.
        let mayByLedger: Set<String>
        let text: String
    }

    private func truth(for caller: Caller, at one: Int) throws -> Truth {
        guard let picture = try picture(at: one) else {
            return Truth(picture: nil, may: [], mayByLedger: [], text: "there is no zone")
        }
        let heard = try stores[one].vector()
        return Truth(
            picture: picture,
            may: picture.readable(by: caller.user),
            mayByLedger: picture.readable { ledger.isIn($0, caller.user, heard) },
            text: picture.text
        )
    }

    // MARK: Records

    /// A device fetches the zone's changes: a page, or all of them.
    mutating func fetchRecords(_ index: Int, at one: Int, toEnd: Bool = false) throws {
        let limit = [1, 2, 3, 100][Int.random(in: 0..<4, using: &dice)]
        let isWhole = toEnd || chance(70)
        var pages = 0
        repeat {
            guard try fetchPage(index, at: one, limit: limit) else { return }
            pages += 1
            guard pages < 200 else {
                return violate(
                    "S1",
                    "a fetch of \(devices[index].caller.letter) has no end",
                    at: one
                )
            }
        } while isWhole && (devices[index].token == nil || devices[index].token?.progress != nil)
        try fetchByName(index, at: one)
    }

    /// Returns false if there is nothing more to ask this node for.
    private mutating func fetchPage(_ index: Int, at one: Int, limit: Int) throws -> Bool {
        let store = stores[one]
        let (caller, token) = (devices[index].caller, devices[index].token)
        var fetch = FetchZoneChanges(
            database: .shared,
            zone: sharedZone,
            since: token,
            keys: nil,
            limit: FetchZoneChanges.PageLimit(items: limit, bytes: 1 << 20)
        )
        // A first fetch without a rule would tell nothing at all.
        if token != nil { fetch.broken = broken?.switches ?? [] }
        do {
            let page = try fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
            if token?.progress == nil { try begin(index, at: one) }
            try take(page, index, at: one)
            return true
        } catch ReadFailure.service(let error) {
            return try take(error, index, at: one)
        }
    }

    /// Notes the state in which a fetch begins; one that the node refused did not begin.
    private mutating func begin(_ index: Int, at one: Int) throws {
        devices[index].began = try stores[one].vector()
        let may = try truth(for: devices[index].caller, at: one).may
        devices[index].known = devices[index].mightRead.union(devices[index].held.keys)
        devices[index].known.formUnion(may)
        devices[index].mightRead = may
    }

    private mutating func take(
        _ page: FetchZoneChanges.Page,
        _ index: Int,
        at one: Int
    ) throws {
        let truth = try truth(for: devices[index].caller, at: one)
        let letter = devices[index].caller.letter
        let (told, gone) = (page.records.map(\.name), page.deletions.map(\.name))
        count("pages", "\(letter) is told \(told), and \(gone) as deleted", at: one)
        verdict.counts["told", default: 0] += told.count
        verdict.counts["told as deleted", default: 0] += gone.count
        for record in page.records {
            checkTold(record, to: devices[index].caller, truth.picture, at: one)
            if !truth.may.contains(record.name) {
                violate("S2", "\(letter) is told \(record.name); \(truth.text)", at: one)
            }
            if !truth.mayByLedger.contains(record.name) {
                let text = "\(letter) is told \(record.name), which was taken away"
                violate("S12", "\(text); \(truth.text)", at: one)
            }
            devices[index].held[record.name] = record.changeTag
            devices[index].known.insert(record.name)
        }
        let isWhole = truth.may.count == truth.picture?.records.count
        for name in gone {
            let mayHold = devices[index].known.union(devices[index].saved)
            if !isWhole, !mayHold.contains(name), !truth.may.contains(name) {
                let text = "\(letter) is told \(name) as deleted, and never held it"
                violate("S2", "\(text); \(truth.text)", at: one)
            }
            devices[index].held[name] = nil
        }
        devices[index].token = try ChangeToken(content: page.token.content)
        guard !page.moreComing else { return }
        count("fetches", letter, at: one)
        // While a fetch went on something may have changed: that is told by the next one.
        if try stores[one].vector() == devices[index].began { compare(index, truth, at: one) }
    }

    private mutating func compare(_ index: Int, _ truth: Truth, at one: Int) {
        let held = devices[index].held
        verdict.counts["records held", default: 0] += held.count
        let letter = devices[index].caller.letter
        guard Set(held.keys) == truth.may else {
            let text = "\(letter) holds \(held.keys.sorted()), and may \(truth.may.sorted())"
            return violate("S1", "\(text); \(truth.text)", at: one)
        }
        for (name, tag) in held.sorted(by: { $0.key < $1.key }) {
            guard let shown = truth.picture?.records[name]?.tag, shown != tag else { continue }
            let text = "\(letter) holds \(name) as \(tag.hex), and it is \(shown.hex)"
            violate("S1", "\(text); \(truth.text)", at: one)
        }
    }

    /// Returns whether the device asks again.
    private mutating func take(_ error: ServiceError, _ index: Int, at one: Int) throws -> Bool {
        let letter = devices[index].caller.letter
        let hadToken = devices[index].token != nil
        switch error.code {
        case .serviceUnavailable where hadToken:
            count("nodes behind", letter, at: one)
            return false
        case .changeTokenExpired where hadToken:
            count("expired", "\(letter): \(error.message)", at: one)
            devices[index].forget()
            return true
        case .zoneNotFound:
            count("unseen", letter, at: one)
            devices[index].forget()
            let truth = try truth(for: devices[index].caller, at: one)
            if !truth.may.isEmpty {
                violate("S1", "\(letter) sees no zone; \(truth.text)", at: one)
            }
            return false
        default:
            violate("S1", "\(letter) gets \(error.code): \(error.message)", at: one)
            return false
        }
    }

    // MARK: By name

    /// A participant finds by name what it may read, and nothing else.
    private mutating func fetchByName(_ index: Int, at one: Int) throws {
        let (store, caller) = (stores[one], devices[index].caller)
        let truth = try truth(for: caller, at: one)
        guard let picture = truth.picture else { return }
        let names = picture.records.keys.sorted()
        let fetch = FetchRecords(
            database: .shared,
            ids: names.map { .success(RecordAddress(zone: sharedZone, name: $0)) },
            keys: nil
        )
        let results = try fetch.run(
            store.scopeNumber(),
            by: caller,
            in: store.reader,
            zones: directory(at: one)
        )
        let records = results.compactMap { try? $0.get() }
        for record in records { checkTold(record, to: caller, picture, at: one) }
        let found = records.map(\.name)
        var below = picture.below(try roots(of: caller, at: one))
        // A share is seen with its root.
        below.formUnion(picture.shares.keys)
        for name in found where !truth.may.contains(name) || !truth.mayByLedger.contains(name) {
            let isBelow = truth.may.count == names.count || below.contains(name)
            violate(
                isBelow ? "S12" : "S11",
                "\(caller.letter) finds \(name), and may not; \(truth.text)",
                at: one
            )
        }
        for name in truth.may.subtracting(found).sorted() {
            violate("S1", "\(caller.letter) doesn't find \(name); \(truth.text)", at: one)
        }
    }

    /// The node's directory of zones and shares, kept until one changes.
    private mutating func directory(at one: Int) -> ZoneDirectory {
        let state = stores[one].state
        if let known = directories[one], known.run == state.incarnation,
            known.zones == state.zonesVersion, known.shares == state.sharesVersion
        {
            return known.directory
        }
        let new = KnownZones(
            run: state.incarnation,
            zones: state.zonesVersion,
            shares: state.sharesVersion
        )
        directories[one] = new
        return new.directory
    }

    /// Names of the roots that the node lets somebody see.
    private func roots(of caller: Caller, at one: Int) throws -> Set<String> {
        Set(try view(of: caller, at: one)?.trees.map(\.root) ?? [])
    }

    /// The data that the node lets a caller see; nil if none.
    func view(of caller: Caller, at one: Int) throws -> AccessRights.View? {
        let store = stores[one]
        return try store.reader.find(
            sharedZone,
            in: DatabaseID(kind: .shared, owner: caller.user),
            of: store.scopeNumber(),
            by: caller
        )?.rights.view
    }

    // MARK: Zones

    /// A device fetches which zones changed that others share with it.
    mutating func fetchZones(_ index: Int, at one: Int) throws {
        let (store, caller) = (stores[one], devices[index].caller)
        var fetch = FetchDatabaseChanges(
            database: .shared,
            since: devices[index].zonesToken,
            limit: 10
        )
        fetch.broken = broken?.switches ?? []
        do {
            let page = try fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
            devices[index].zonesToken = try ChangeToken(content: page.token.content)
            if page.deletions.contains(where: { $0.zone == sharedZone }) {
                devices[index].listsZone = false
            }
            if page.changed.contains(sharedZone) { devices[index].listsZone = true }
            let told = page.changed.isEmpty ? page.deletions.isEmpty ? "nothing" : "less" : "more"
            count("lists", "\(caller.letter) is told \(told)", at: one)
            let truth = try truth(for: caller, at: one)
            if devices[index].listsZone == truth.may.isEmpty {
                let listed = devices[index].listsZone ? "lists" : "doesn't list"
                violate("S9", "\(caller.letter) \(listed) the zone; \(truth.text)", at: one)
            }
        } catch ReadFailure.service(let error) {
            let hadToken = devices[index].zonesToken != nil
            switch error.code {
            case .serviceUnavailable where hadToken: count("nodes behind", at: one)
            case .changeTokenExpired where hadToken:
                count("lists expired", error.message, at: one)
                (devices[index].zonesToken, devices[index].listsZone) = (nil, false)
                try fetchZones(index, at: one)
            default: violate("S9", "\(caller.letter) gets \(error.message)", at: one)
            }
        }
    }
}
