// What `proto/` says, as gRPC's reflection hands it out: files by name, and by the names of what
// they define.
//
// Made once from the descriptors that protoc made, and asked by `GRPCReflection`. Only the names
// are read; the files are handed out as they are.

import CumulusModel
import CumulusWire

struct Descriptors: Sendable {
    /// Files as protoc made them, by name.
    private var files: [String: Bytes] = [:]
    /// What a file needs before it.
    private var needs: [String: [String]] = [:]
    /// The file that defines a message, an enum, a service or a method, by its full name.
    private var homes: [String: String] = [:]
    private(set) var services: [String] = []

    /// - Parameter set: A `FileDescriptorSet`.
    init(_ set: Bytes) throws(MalformedMessage) {
        for file in try DescriptorSet(wire: set).files {
            enter(try DescribedFile(wire: file), file)
        }
        services.sort()
    }

    private mutating func enter(_ file: DescribedFile, _ bytes: Bytes) {
        files[file.name] = bytes
        needs[file.name] = file.needs
        let prefix = file.package.isEmpty ? "" : file.package + "."
        for message in file.messages { enter(message, prefix, in: file.name) }
        for item in file.enums { homes[prefix + item.name] = file.name }
        for service in file.services {
            services.append(prefix + service.name)
            enter(service, prefix, in: file.name)
        }
    }

    private mutating func enter(_ item: some Described, _ prefix: String, in file: String) {
        homes[prefix + item.name] = file
        for part in item.parts { homes["\(prefix)\(item.name).\(part.name)"] = file }
    }

    /// A file behind all that it needs; nil if there is no such file.
    func file(named name: String) -> [Bytes]? {
        guard files[name] != nil else { return nil }
        var (found, seen): ([Bytes], Set<String>) = ([], [])
        gather(name, &found, &seen)
        return found
    }

    /// The file that defines something, behind all that it needs.
    func file(defining symbol: String) -> [Bytes]? {
        homes[symbol].flatMap { file(named: $0) }
    }

    private func gather(_ name: String, _ found: inout [Bytes], _ seen: inout Set<String>) {
        guard let file = files[name], seen.insert(name).inserted else { return }
        for needed in needs[name] ?? [] { gather(needed, &found, &seen) }
        found.append(file)
    }
}

// MARK: - Messages of descriptor.proto, as far as they are read

private struct DescriptorSet: WireMessage {
    var files: [Bytes] = []

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &files)
    }
}

private struct DescribedFile: WireMessage {
    var name = ""
    var package = ""
    var needs: [String] = []
    var messages: [DescribedMessage] = []
    var enums: [Named] = []
    var services: [DescribedService] = []

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        try coder.text(2, &package)
        try coder.list(3, &needs)
        try coder.list(4, &messages)
        try coder.list(5, &enums)
        try coder.list(6, &services)
    }
}

/// Something with a name that has parts with names.
private protocol Described {
    var name: String { get }
    var parts: [Named] { get }
}

private struct DescribedMessage: Coded, Described {
    var name = ""
    var messages: [Named] = []
    var enums: [Named] = []
    var parts: [Named] { messages + enums }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        try coder.list(3, &messages)
        try coder.list(4, &enums)
    }
}

private struct DescribedService: Coded, Described {
    var name = ""
    var parts: [Named] = []

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        try coder.list(2, &parts)
    }
}

private struct Named: Coded {
    var name = ""

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
    }
}
