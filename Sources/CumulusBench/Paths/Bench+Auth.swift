// The path `auth`: what it costs to ask whether a caller may, and to find out who it is.
//
// The same records in the same node: in the caller's own zone, where everything is allowed; in the
// public database, by a role of the schema; in a zone and in a record tree that another user
// shares. Each figure has the first one as its bound, so what asking costs is the difference of the
// node's processor times. Sign-ins stand beside scrypt alone, which both of them run.

import CryptoExtras
import Cumulus
import CumulusModel
import Foundation

extension Bench {
    func auth(_ target: BenchTarget) async throws -> [BenchFigure] {
        let guest = try await BenchGuest.open(target, options)
        return try await guest.container.use { _ in
            try await reads(target, guest) + saves(target, guest) + [signIns(target)]
        }
    }

    // MARK: Reads

    private func reads(
        _ target: BenchTarget,
        _ guest: BenchGuest
    ) async throws -> [BenchFigure] {
        let (own, shared) = (guest.zone, guest.container.sharedCloudDatabase)
        let ownDatabase = target.database
        let bound = try await BenchFigure.measure("auth: fetch, own", target, load) { dice in
            _ = try await ownDatabase.record(for: own.anyID(&dice))
        }
        let (roles, publicDatabase) = (guest.publicRecords, guest.container.publicCloudDatabase)
        var figures = [bound]
        figures.append(
            try await compare("auth: fetch, by a role", target, with: bound) { dice in
                _ = try await publicDatabase.record(for: roles.anyID(&dice))
            }
        )
        let zone = guest.sharedZone
        figures.append(
            try await compare("auth: fetch, shared zone", target, with: bound) { dice in
                _ = try await shared.record(for: zone.anyID(&dice))
            }
        )
        let tree = guest.sharedTree
        figures.append(
            try await compare("auth: fetch, shared tree", target, with: bound) { dice in
                _ = try await shared.record(for: tree.anyID(&dice))
            }
        )
        return figures
    }

    // MARK: Saves

    private func saves(
        _ target: BenchTarget,
        _ guest: BenchGuest
    ) async throws -> [BenchFigure] {
        let own = guest.zone
        let bound = try await BenchFigure.measure("auth: save, own", target, load) { dice in
            try await target.save([own.record(own.anyID(&dice), &dice)])
        }
        let roles = guest.publicRecords
        let database = guest.container.publicCloudDatabase
        return [
            bound,
            try await compare("auth: save, by a role", target, with: bound) { dice in
                let record = roles.record(roles.anyID(&dice), &dice)
                try await database.save([record], .changedKeys)
            },
        ]
    }

    private func compare(
        _ name: String,
        _ target: BenchTarget,
        with bound: BenchFigure,
        _ operation: @escaping BenchLoad.Operation
    ) async throws -> BenchFigure {
        var figure = try await BenchFigure.measure(name, target, load, operation)
        figure.compare(with: [bound.bound(named: "own")])
        return figure
    }

    // MARK: Sign-ins

    /// The node hashes one password at a time, so one call is in flight.
    private func signIns(_ target: BenchTarget) async throws -> BenchFigure {
        let load = BenchLoad(callers: 1, seconds: options.seconds)
        let visitor = Container(
            identifier: BenchNode.container,
            configuration: Container.Configuration(endpoints: [target.endpoint])
        )
        var figure = try await visitor.use { visitor in
            try await BenchFigure.measure("auth: sign in", target, load) { _ in
                _ = try await visitor.signIn(name: BenchGuest.name, password: BenchGuest.password)
            }
        }
        figure.compare(with: [try scrypt()])
        return figure
    }

    /// The hash that a sign-in takes, with a node's own parameters.
    private func scrypt() throws -> BenchFigure.Bound {
        let password = Data(BenchGuest.password.utf8)
        let salt = Data(repeating: 7, count: 16)
        let end = Date().addingTimeInterval(options.seconds)
        let start = Date()
        var count = 0
        while Date() < end {
            _ = try KDF.Scrypt.deriveKey(
                from: password,
                salt: salt,
                outputByteCount: 32,
                rounds: 1 << 15,
                blockSize: 8,
                parallelism: 1
            )
            count += 1
        }
        let seconds = Date().timeIntervalSince(start)
        return BenchFigure.Bound(
            name: "scrypt",
            perSecond: Double(count) / seconds,
            cpuMicroseconds: seconds * 1e6 / Double(count)
        )
    }
}
