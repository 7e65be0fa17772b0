// Mount points in the kernel's table and in /etc/fstab.
#include "weir_catch.hpp"
#include <weir/node/folder_watch.hpp>
#include <weir/node/mounts.hpp>

#include <string>

using namespace weir;
using namespace weir::node;

namespace {

const std::string kRoot = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";
const std::string kProc = "23 22 0:21 / /proc rw shared:5 - proc proc rw\n";
const std::string kData = "30 22 8:17 / /data rw shared:9 - ext4 /dev/sdb1 rw\n";

std::string point_of(const std::string& mountinfo, const std::string& path) {
  const auto mount = mount_of(mountinfo, path);
  return mount ? mount->point + " " + mount->device : "unknown";
}

}  // namespace

TEST_CASE("a path lies on the deepest mount that leads to it") {
  const std::string table = kRoot + kProc + kData;
  CHECK(point_of(table, "/data/out") == "/data /dev/sdb1 (ext4)");
  CHECK(point_of(table, "/data") == "/data /dev/sdb1 (ext4)");
  CHECK(point_of(table, "/data2/out") == "/ /dev/sda1 (ext4)");
  CHECK(point_of(table, "/") == "/ /dev/sda1 (ext4)");
  CHECK(point_of(kRoot + kProc, "/data/out") == "/ /dev/sda1 (ext4)");
  CHECK(point_of("", "/data/out") == "unknown");
  CHECK(point_of("22\n\nnot a table - x\n22 1 8:1 / / rw - ext4\n", "/data") == "unknown");
}

TEST_CASE("blanks and backslashes in a mount point are written as octal numbers") {
  const std::string table = kRoot +
                            "31 22 8:33 / /run/media/daq\\040disk\\0111 rw - vfat /dev/sdc\\0401 rw\n"
                            "32 22 8:34 / /odd\\134name rw - ext4 /dev/sdd rw\n";
  CHECK(point_of(table, "/run/media/daq disk\t1/out") == "/run/media/daq disk\t1 /dev/sdc 1 (vfat)");
  CHECK(point_of(table, "/odd\\name/x") == "/odd\\name /dev/sdd (ext4)");
}

TEST_CASE("a disk that the kernel mounts when it is used has no known place before") {
  const std::string automount = "40 22 0:40 / /data rw - autofs systemd-1 rw,direct\n";
  CHECK(point_of(kRoot + automount, "/data/out") == "unknown");
  const std::string mounted = "41 40 0:50 / /data rw - nfs4 server:/export rw,hard\n";
  CHECK(point_of(kRoot + automount + mounted, "/data/out") == "/data server:/export (nfs4)");
  const std::string indirect = "42 22 0:42 / /net rw - autofs auto.net rw,indirect\n";
  CHECK(point_of(kRoot + indirect, "/net/store/out") == "unknown");
}

TEST_CASE("mounts that another one hides, and mounts on one point, are those that the path meets") {
  const std::string below = "50 22 8:49 / /data/out rw - ext4 /dev/sde1 rw\n";
  CHECK(point_of(kRoot + kData + "51 30 8:49 / /data/out rw - ext4 /dev/sde1 rw\n", "/data/out/x") ==
        "/data/out /dev/sde1 (ext4)");
  CHECK(point_of(kRoot + below + kData, "/data/out/x") == "/data /dev/sdb1 (ext4)");
  const std::string second = "52 30 0:60 / /data rw - tmpfs none rw\n";
  CHECK(point_of(kRoot + kData + second, "/data/out") == "/data none (tmpfs)");
}

TEST_CASE("overlays, bind mounts and a root without its parent are mounts as others") {
  const std::string overlay = "900 800 0:99 / / rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c\n";
  const std::string bind = "901 900 8:17 /daq /data rw - ext4 /dev/sdb1 rw\n";
  CHECK(point_of(overlay + bind, "/data/out") == "/data /dev/sdb1 (ext4)");
  CHECK(point_of(overlay, "/data/out") == "/ overlay (overlay)");
  CHECK(point_of(bind, "/data/out") == "/data /dev/sdb1 (ext4)");  // in a chroot without a mount at its root
  CHECK(point_of(bind, "/home") == "unknown");
  CHECK(point_of("1 1 0:2 / / rw - rootfs rootfs rw\n" + kRoot + kData, "/data/out") ==
        "/data /dev/sdb1 (ext4)");
}

TEST_CASE("a mount point of /etc/fstab that is deeper than the present one is not mounted") {
  const std::string fstab =
      "# <file system> <mount point> <type>\n"
      "UUID=1 / ext4 errors=remount-ro 0 1\n"
      "/dev/sdb1\t/data/  ext4 noauto 0 2\n"
      "/dev/sdc1 /my\\040data xfs defaults 0 2\n"
      "/dev/sdd1 none swap sw 0 0\n"
      "# /dev/sde1 /home ext4 defaults 0 2\n";
  CHECK(unmounted_point(fstab, "/data/out", "/") == "/data");
  CHECK(unmounted_point(fstab, "/data/out", "/data") == "");
  CHECK(unmounted_point(fstab, "/data/out", "/data/out") == "");
  CHECK(unmounted_point(fstab, "/data2/out", "/") == "");
  CHECK(unmounted_point(fstab, "/my data/out", "/") == "/my data");
  CHECK(unmounted_point(fstab, "/home/out", "/") == "");
  CHECK(unmounted_point("", "/data/out", "/") == "");
}

TEST_CASE("folders are placed when they are set, and again only after a change") {
  FolderWatch watch;
  TimeNs now = kSecond;
  CHECK_FALSE(watch.look(now));
  watch.set_folders({{"run.out", "/", FolderWatch::Links::resolved}});
  const bool known = place_of("run.out", "/").has_value();
  CHECK(watch.look(now += kSecond) == known);
  CHECK(watch.places().size() == (known ? 1 : 0));
  CHECK_FALSE(watch.look(now += kSecond));
  watch.set_folders({});
  CHECK(watch.look(now += kSecond) == known);
}
