// Packs of assets as rows of the database, beside the rows that name them: so a node keeps no data
// on its machine.
//
// `PostgresEngine` makes them; `AssetStore` and `AssetRecovery` call them through the seam. A pack
// has a row for each 256 KiB, its parts; no call holds more than some of them, but in what it
// returns. A write is durable when it returns. It may take several statements, so a process that
// ends meanwhile leaves parts that no row of the store names: the next start finds and removes
// them, as with files. A change is sent again if its connection broke, which does no harm; a
// process that lost its term changes nothing, see `Term.share`.
//
// Folder: packs of assets. Read `SQLPacks`, then `PackStatements` and `PackParts`.

package import CumulusModel
package import CumulusStorage

package struct SQLPacks: PackFiles {
    let store: PostgresStore

    /// The most packs that `all` lists with one question.
    private static let listedAtOnce: Int64 = 10_000

    package func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        var parts = PackParts(pieces)
        while let (first, some) = parts.next() {
            do throws(PackError) {
                _ = try change(PackStatements.writing(some, from: first, of: pack, store.process))
            } catch {
                if first > 0 { remove(pack) }
                throw error
            }
        }
    }

    package func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        guard range.upperBound <= PackParts.mostBytes else { return nil }
        var bytes: Bytes = []
        var rest = range
        repeat {
            let page = PackParts.page(of: rest)
            let answer: Answer
            do {
                answer = try ask(PackStatements.reading(page, of: pack))
            } catch .corrupt {
                return nil
            } catch {
                throw error.ofPacks
            }
            bytes.reserveCapacity(bytes.count + page.count)
            for row in 0..<answer.count { bytes += answer.lend(row, 0) }
            rest = page.upperBound..<range.upperBound
            let isWhole = answer.count == PackParts.count(in: page)
            guard isWhole, bytes.count == rest.lowerBound - range.lowerBound else { return nil }
        } while !rest.isEmpty
        return bytes
    }

    /// What can't be removed now goes at the next start.
    @discardableResult package func remove(_ pack: PackNumber) -> Int {
        let answer = try? change(PackStatements.removing(pack, store.process))
        return answer.map { Int($0.number(0, 0)) } ?? 0
    }

    package func all() throws(PackError) -> [PackNumber: Int] {
        var found: [PackNumber: Int] = [:]
        var last = Int64.min
        while true {
            let answer: Answer
            do {
                answer = try ask(PackStatements.sizes(after: last, SQLPacks.listedAtOnce))
            } catch {
                throw error.ofPacks
            }
            for row in 0..<answer.count {
                last = answer.number(row, 0)
                found[PackNumber(bitPattern: last)] = Int(answer.number(row, 1))
            }
            if answer.count < SQLPacks.listedAtOnce { return found }
        }
    }

    package func origin() throws(PackError) -> Incarnation? {
        do {
            let text = try store.text(of: .packOrigin)
            return text.flatMap { UInt64($0, radix: 16) }.map(Incarnation.init)
        } catch {
            throw error.ofPacks
        }
    }

    package func setOrigin(_ run: Incarnation) throws(PackError) {
        do {
            try store.set(.packOrigin, String(run.value, radix: 16))
        } catch {
            throw error.ofPacks
        }
    }

    package func copy(to directory: String) throws(PackError) {
        throw .failed(
            "the packs are in a database, which has backups of its own, such as pg_dump makes"
        )
    }

    // MARK: Parts

    private func ask(_ question: Question) throws(EngineError) -> Answer {
        try NewestRows(store: store).ask([question])[0]
    }

    private func change(_ question: Question) throws(PackError) -> Answer {
        do {
            return try store.change(question)
        } catch {
            throw error.ofPacks
        }
    }
}

extension EngineError {
    fileprivate var ofPacks: PackError {
        switch self {
        case .full: .full
        case .failed(let text), .corrupt(let text), .exhausted(let text),
            .unavailable(let text):
            .failed(text)
        case .notInMemory: .failed("a read did not reach the database")
        }
    }
}
