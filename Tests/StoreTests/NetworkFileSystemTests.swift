import CLinux
import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// SQLite's log loses data where files are on another machine.
@Suite struct NetworkFileSystemTests {
    private static let mounts = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        90 22 0:51 / /mnt/far rw,nosuid shared:7 master:2 - fuse.sshfs ada@example.org:/ rw,user_id=0
        91 22 0:52 / /mnt/near rw,nosuid shared:8 - fuse.mergerfs a:b rw,user_id=0
        """

    @Test(arguments: [
        (0x6969, "NFS"), (0xFE53_4D42, "SMB2"), (0xFF53_4D42, "CIFS"), (0x0102_1997, "9p"), (0x00C3_6400, "Ceph"),
        (0xEF53, nil), (0x0102_1994, nil), (0x9123_683E, nil), (-1, nil),
    ])
    func aFileSystemOfAnotherMachineIsKnownByItsType(_ type: Int, _ name: String?) {
        #expect(NetworkFileSystem.name(type: type, device: 0, mounts: Self.mounts) == name)
    }

    @Test(arguments: [(51, "fuse.sshfs"), (52, nil), (53, nil)])
    func oneInUserSpaceIsKnownByTheNameOfItsMount(_ minor: UInt64, _ name: String?) {
        #expect(NetworkFileSystem.name(type: 0x6573_5546, device: minor, mounts: Self.mounts) == name)
    }

    @Test(arguments: ["/tmp", "/dev/shm"])
    func aDiskOfThisMachineIsOpened(_ folder: String) throws {
        try NetworkFileSystem.refuse(path: folder + "/prsnl.sqlite")
    }
}
