// The files that the path `asset` of `cumulus-bench` uploads: noise, text, and many small ones.
//
// Made anew by each run, from dice with fixed seeds.

import CumulusModel
import Foundation

/// Files that are uploaded.
enum BenchContent {
    static let smallFiles = 10_000
    static let smallBytes = 20_000

    /// Bytes that no compression makes shorter.
    static func noise(megabytes: Int, in folder: String) throws -> String {
        var dice = SeededGenerator(seed: 1)
        return try write("noise", megabytes, in: folder) {
            bytes(1_000_000, &dice)
        }
    }

    /// Text that zstd has not seen before.
    ///
    /// - Parameter source: A file from which lines are drawn; nil makes up words.
    static func text(
        megabytes: Int,
        linesOf source: String?,
        in folder: String
    ) throws -> String {
        var dice = SeededGenerator(seed: 2)
        let next = try source.map(lines) ?? words(&dice)
        return try write("text", megabytes, in: folder) {
            var part: [UInt8] = []
            while part.count < 1_000_000 { part += next(&dice) }
            return Array(part.prefix(1_000_000))
        }
    }

    private static func lines(of file: String) throws -> (inout SeededGenerator) -> ArraySlice<
        UInt8
    > {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw BenchProblem(message: "--text: \(file) can't be read")
        }
        let lines = Array([UInt8](bytes).split(separator: 10))
        guard !lines.isEmpty else { throw BenchProblem(message: "--text: \(file) has no lines") }
        return { dice in lines[Int.random(in: 0..<lines.count, using: &dice)] + [10] }
    }

    /// Some words are used much more often than others.
    private static func words(_ dice: inout SeededGenerator) -> (inout SeededGenerator) ->
        ArraySlice<UInt8>
    {
        let words = (0..<2_000).map { _ in
            (0..<Int.random(in: 2...9, using: &dice)).map { _ in
                UInt8.random(in: 97...122, using: &dice)
            }
        }
        return { dice in
            let place = Int.random(in: 0..<2_000, using: &dice)
            let word = words[place * Int.random(in: 0..<2_000, using: &dice) / 2_000]
            return word + [Int.random(in: 0..<12, using: &dice) == 0 ? 10 : 32]
        }
    }

    static func bytes(_ count: Int, _ dice: inout SeededGenerator) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { room, filled in
            let words = count / 8
            room.baseAddress?.withMemoryRebound(to: UInt64.self, capacity: words) { place in
                for index in 0..<words { place[index] = dice.next() }
            }
            filled = words * 8
        }
    }

    private static func write(
        _ name: String,
        _ megabytes: Int,
        in folder: String,
        _ part: () -> [UInt8]
    ) throws -> String {
        let path = "\(folder)/\(name)"
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw BenchProblem(message: "\(path) can't be written") }
        for _ in 0..<megabytes { try file.write(contentsOf: Data(part())) }
        try file.synchronize()
        try file.close()
        return path
    }
}
