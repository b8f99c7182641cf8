/* convert merge: models of one shape as one. */
#ifndef CONVERT_MERGE_H
#define CONVERT_MERGE_H

int merge_main(int argc, char **argv);

#endif
